/* Part of the stand-in for the CUDA driver: streams and captures of graphs on them.
 *
 * A capture follows the rules of cuThreadExchangeStreamCaptureMode: what is unsafe during one is refused in its
 * own thread, and in all others if its mode is global, and the capture is then lost. Only handles can be captured.
 * */

#include "driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_CAPTURED = 0, CAPTURED = 1, LOST = 2 };
enum { MODE_GLOBAL = 0, MODE_THREAD_LOCAL = 1, MODE_RELAXED = 2 };
enum { NON_BLOCKING = 1 };

struct graph {
  int launches;
  struct command *commands;
};

static struct stream *streams;
static int made;
static __thread int thread_mode;

static int is_stream(const struct stream *handle) {
  const struct stream *stream = streams;
  while (stream && stream != handle) stream = stream->next;
  return stream != NULL;
}

int64_t streams_live(void) {
  int64_t count = 0;
  for (struct stream *stream = streams; stream; stream = stream->next) count++;
  return count;
}

const char *stream_text(CUstream stream) {
  static const char *names[] = {"null", "legacy", "per-thread"};
  static char text[32];
  if ((uintptr_t)stream <= STREAM_PER_THREAD) return names[(uintptr_t)stream];
  if (!is_stream(stream)) return "no-stream";
  snprintf(text, sizeof text, "stream%d", stream->number);
  return text;
}

CUresult stream_context(CUstream stream, struct context **out) {
  int is_handle = (uintptr_t)stream > STREAM_PER_THREAD;
  if (is_handle && !is_stream(stream)) return refuse(INVALID_HANDLE, "it is no stream");
  *out = is_handle ? stream->context : current();
  return context_check(*out);
}

/* Returns true if a capture forbids unsafe calls in this thread. */
static int forbids(const struct stream *stream) {
  int is_own = stream->thread == (uintptr_t)pthread_self();
  if (stream->capture == NOT_CAPTURED || stream->mode == MODE_RELAXED || thread_mode == MODE_RELAXED) return 0;
  return is_own || (stream->mode == MODE_GLOBAL && thread_mode == MODE_GLOBAL);
}

CUresult capture_forbids(const char *what) {
  CUresult status = SUCCESS;
  for (struct stream *stream = streams; stream; stream = stream->next) {
    if (!forbids(stream)) continue;
    stream->capture = LOST;
    status = refuse(STREAM_CAPTURE_UNSUPPORTED, "%s while stream%d is captured", what, stream->number);
  }
  return status;
}

/* Refuses work on a context's own stream while a stream that synchronizes with it is captured. */
CUresult capture_implicit(const struct context *context) {
  for (struct stream *stream = streams; stream; stream = stream->next) {
    if (stream->context != context || stream->capture == NOT_CAPTURED || stream->flags & NON_BLOCKING) continue;
    stream->capture = LOST;
    return refuse(STREAM_CAPTURE_IMPLICIT, "stream%d is captured and waits for the legacy stream", stream->number);
  }
  return SUCCESS;
}

CUresult capture_launch(CUstream stream, struct context *context, int *captured) {
  *captured = 0;
  if ((uintptr_t)stream <= STREAM_LEGACY) return capture_implicit(context);
  if ((uintptr_t)stream == STREAM_PER_THREAD || stream->capture == NOT_CAPTURED) return SUCCESS;
  if (stream->capture == LOST) return refuse(STREAM_CAPTURE_INVALIDATED, "the capture is lost");
  stream->origin->launches++;
  *captured = 1;
  return SUCCESS;
}

CUresult submit(CUstream stream, const struct command *command) {
  struct context *context;
  int captured;
  CUresult status = context_check(current());
  if (!status) status = stream_context(stream, &context);
  if (!status) status = capture_launch(stream, context, &captured);
  if (status) return status;
  if (!captured) return command_run(command), SUCCESS;
  struct command *kept = command_copy(command), **place = &stream->origin->commands;
  if (!kept) return OUT_OF_MEMORY;
  while (*place) place = &(*place)->next;
  *place = kept;
  yield(" captured");
  return SUCCESS;
}

/* Returns the stream whose capture a stream belongs to; NULL if it is not captured. */
static struct stream *capture_of(CUstream stream) {
  if ((uintptr_t)stream <= STREAM_PER_THREAD || stream->capture == NOT_CAPTURED) return NULL;
  return stream->origin;
}

CUresult capture_mark(CUstream stream, struct stream **origin, struct stream **branch) {
  struct context *context;
  CUresult status = stream_context(stream, &context);
  if (!status && (uintptr_t)stream <= STREAM_LEGACY) status = capture_implicit(context);
  if (status) return status;
  *origin = capture_of(stream);
  *branch = *origin ? stream : NULL;
  return SUCCESS;
}

CUresult capture_join(CUstream stream, struct stream *origin, struct stream *branch) {
  struct stream *own = capture_of(stream);
  if (!origin && !own) return SUCCESS;
  if (!origin) {
    own->capture = LOST;
    return refuse(STREAM_CAPTURE_ISOLATION, "what it waits for is not captured");
  }
  if ((uintptr_t)stream <= STREAM_PER_THREAD) return refuse(STREAM_CAPTURE_IMPLICIT, "it would be captured");
  if (own && own != origin) return refuse(STREAM_CAPTURE_MERGE, "another capture");
  branch->unjoined = 0;
  if (stream == origin) return SUCCESS;
  stream->capture = CAPTURED, stream->mode = origin->mode, stream->thread = origin->thread;
  stream->origin = origin, stream->unjoined = 1;
  return SUCCESS;
}

/* Ends the captures of all streams that belong to one; returns true if all were joined again. */
static int end_branches(const struct stream *origin) {
  int joined = 1;
  for (struct stream *stream = streams; stream; stream = stream->next) {
    if (stream->origin != origin || stream->capture == NOT_CAPTURED) continue;
    if (stream != origin && stream->unjoined) joined = 0;
    stream->capture = NOT_CAPTURED, stream->unjoined = 0;
  }
  return joined;
}

CALL(cuStreamCreate, (CUstream * out, unsigned flags), (out, flags), "flags=%u", flags) {
  if (!out || flags > NON_BLOCKING) return refuse(INVALID_VALUE, "no such flags, or NULL");
  CUresult status = context_check(current());
  if (status) return status;
  struct stream *stream = calloc(1, sizeof *stream);
  if (!stream) return OUT_OF_MEMORY;
  *stream = (struct stream){.context = current(), .flags = flags, .number = made++, .next = streams};
  *out = streams = stream;
  yield(" %s context=%s", stream_text(stream), context_text(stream->context));
  return SUCCESS;
}

static CUresult destroy(CUstream stream) {
  if (!is_stream(stream)) return refuse(INVALID_HANDLE, "it is no stream");
  struct stream **place = &streams;
  while (*place != stream) place = &(*place)->next;
  *place = stream->next;
  free(stream);
  return SUCCESS;
}

CALL(cuStreamDestroy_v2, (CUstream stream), (stream), "%s", stream_text(stream)) { return destroy(stream); }

CALL(cuStreamDestroy, (CUstream stream), (stream), "%s", stream_text(stream)) { return destroy(stream); }

STREAM_CALL(cuStreamGetCtx, (CUstream stream, CUcontext *out), (stream, out), "%s", stream_text(stream)) {
  if (!out) return refuse(INVALID_VALUE, "NULL");
  CUresult status = stream_context(stream, out);
  if (!status) yield(" %s", context_text(*out));
  return status;
}

STREAM_CALL(cuStreamGetDevice, (CUstream stream, CUdevice *out), (stream, out), "%s", stream_text(stream)) {
  struct context *context;
  if (!out) return refuse(INVALID_VALUE, "NULL");
  CUresult status = stream_context(stream, &context);
  if (!status) yield(" device=%d", *out = context->device);
  return status;
}

STREAM_CALL(cuStreamSynchronize, (CUstream stream), (stream), "%s", stream_text(stream)) {
  struct context *context;
  CUresult status = stream_context(stream, &context);
  if (status) return status;
  if ((uintptr_t)stream <= STREAM_LEGACY) return capture_implicit(context);
  if ((uintptr_t)stream == STREAM_PER_THREAD || stream->capture == NOT_CAPTURED) return SUCCESS;
  stream->capture = LOST;
  return refuse(STREAM_CAPTURE_UNSUPPORTED, "it is captured");
}

static CUresult begin_capture(CUstream stream, int mode) {
  if (mode < MODE_GLOBAL || mode > MODE_RELAXED) return refuse(INVALID_VALUE, "no such mode");
  if ((uintptr_t)stream <= STREAM_LEGACY) return refuse(STREAM_CAPTURE_UNSUPPORTED, "of the legacy stream");
  if ((uintptr_t)stream == STREAM_PER_THREAD) return refuse(NOT_SUPPORTED, "by this stand-in");
  if (!is_stream(stream)) return refuse(INVALID_HANDLE, "it is no stream");
  if (stream->capture != NOT_CAPTURED) return refuse(INVALID_VALUE, "it is captured already");
  stream->capture = CAPTURED, stream->mode = mode, stream->launches = 0, stream->origin = stream;
  stream->thread = (uintptr_t)pthread_self();
  return SUCCESS;
}

STREAM_CALL(cuStreamBeginCapture_v2, (CUstream stream, int mode), (stream, mode), "%s mode=%d",
            stream_text(stream), mode) {
  return begin_capture(stream, mode);
}

CALL(cuStreamBeginCapture, (CUstream stream), (stream), "%s", stream_text(stream)) {
  return begin_capture(stream, MODE_GLOBAL);
}

STREAM_CALL(cuStreamEndCapture, (CUstream stream, CUgraph *out), (stream, out), "%s", stream_text(stream)) {
  if (!out) return refuse(INVALID_VALUE, "NULL");
  *out = NULL;
  if (!is_stream(stream)) return refuse(INVALID_HANDLE, "it is no stream that is a handle");
  if (stream->capture == NOT_CAPTURED) return refuse(STREAM_CAPTURE_UNMATCHED, "it is not captured");
  if (stream->mode != MODE_RELAXED && stream->thread != (uintptr_t)pthread_self())
    return refuse(STREAM_CAPTURE_WRONG_THREAD, "another thread has begun it");
  if (stream->origin != stream) return refuse(STREAM_CAPTURE_UNMATCHED, "another stream began it");
  struct command *commands = stream->commands;
  int is_lost = stream->capture == LOST, is_joined = end_branches(stream);
  stream->commands = NULL;
  if (is_lost || !is_joined) commands_free(commands);
  if (is_lost) return refuse(STREAM_CAPTURE_INVALIDATED, "the capture is lost");
  if (!is_joined) return refuse(STREAM_CAPTURE_UNJOINED, "a stream was not joined again");
  if (!(*out = malloc(sizeof **out))) return OUT_OF_MEMORY;
  **out = (struct graph){stream->launches, commands};
  yield(" launches=%d", stream->launches);
  return SUCCESS;
}

CALL(cuGraphDestroy, (CUgraph graph), (graph), NOTHING) {
  if (!graph) return refuse(INVALID_VALUE, "NULL");
  commands_free(graph->commands);
  free(graph);
  return SUCCESS;
}

/* Returns the name of a stream in the record. */
EXPORT const char *FAKE(stream_text)(CUstream stream) { return stream_text(stream); }

/* Runs the captured commands of a graph again; launches run nothing. */
EXPORT void FAKE(replay)(CUgraph graph) {
  for (const struct command *command = graph->commands; command; command = command->next) command_run(command);
}

STREAM_CALL(cuStreamIsCapturing, (CUstream stream, int *out), (stream, out), "%s", stream_text(stream)) {
  struct context *context;
  if (!out) return refuse(INVALID_VALUE, "NULL");
  CUresult status = stream_context(stream, &context);
  if (!status && (uintptr_t)stream <= STREAM_LEGACY) status = capture_implicit(context);
  if (status) return status;
  yield(" %d", *out = (uintptr_t)stream <= STREAM_PER_THREAD ? NOT_CAPTURED : stream->capture);
  return SUCCESS;
}

CALL(cuThreadExchangeStreamCaptureMode, (int *mode), (mode), "%d", mode ? *mode : -1) {
  if (!mode || *mode < MODE_GLOBAL || *mode > MODE_RELAXED) return refuse(INVALID_VALUE, "no such mode");
  int before = thread_mode;
  thread_mode = *mode, *mode = before;
  yield(" %d", before);
  return SUCCESS;
}
