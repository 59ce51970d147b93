/* Part of the stand-in for the CUDA driver: events. They order streams, which matters for captures only, since
 * commands run at once: a stream that waits for a captured one is captured too, until it is joined again. */

#include "driver.h"

#include <stdlib.h>

enum { LAST_FLAGS = 7 };

struct event {
  struct context *context;
  int is_recorded;
  /* The stream whose capture contains the recorded work, and the stream of that work; NULL if it is not captured. */
  struct stream *origin, *branch;
  struct event *next;
};

static struct event *events;

static int is_event(const struct event *handle) {
  const struct event *event = events;
  while (event && event != handle) event = event->next;
  return event != NULL;
}

int64_t events_live(void) {
  int64_t count = 0;
  for (struct event *event = events; event; event = event->next) count++;
  return count;
}

EXPORT void FAKE(destroy_events)(void) {
  while (events) {
    struct event *next = events->next;
    free(events);
    events = next;
  }
}

CALL(cuEventCreate, (CUevent * out, unsigned flags), (out, flags), "flags=%u", flags) {
  if (!out || flags > LAST_FLAGS) return refuse(INVALID_VALUE, "no such flags, or NULL");
  CUresult status = context_check(current());
  if (status) return status;
  struct event *event = calloc(1, sizeof *event);
  if (!event) return OUT_OF_MEMORY;
  *event = (struct event){.context = current(), .next = events};
  *out = events = event;
  yield(" context=%s", context_text(event->context));
  return SUCCESS;
}

CALL(cuEventDestroy_v2, (CUevent event), (event), NOTHING) {
  if (!is_event(event)) return refuse(INVALID_HANDLE, "it is no event");
  struct event **place = &events;
  while (*place != event) place = &(*place)->next;
  *place = event->next;
  free(event);
  return SUCCESS;
}

STREAM_CALL(cuEventRecord, (CUevent event, CUstream stream), (event, stream), "%s", stream_text(stream)) {
  if (!is_event(event)) return refuse(INVALID_HANDLE, "it is no event");
  struct context *context;
  CUresult status = stream_context(stream, &context);
  if (status) return status;
  if (context != event->context) return refuse(INVALID_HANDLE, "the event is of %s", context_text(event->context));
  status = capture_mark(stream, &event->origin, &event->branch);
  event->is_recorded = !status;
  return status;
}

STREAM_CALL(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags), (stream, event, flags), "%s",
            stream_text(stream)) {
  if (!is_event(event)) return refuse(INVALID_HANDLE, "it is no event");
  if (flags > 1) return refuse(INVALID_VALUE, "no such flags");
  struct context *context;
  CUresult status = stream_context(stream, &context);
  if (status || !event->is_recorded) return status;
  return capture_join(stream, event->origin, event->branch);
}
