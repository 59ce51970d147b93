/* What the files of the host for other machines share; main.c describes the host. */

#ifndef CROSS_H
#define CROSS_H

#include <stddef.h>
#include <stdint.h>

#include <tvm/ffi/c_api.h>

/* Ends the process with a line that says why. */
void stop(const char *reason) __attribute__((noreturn));

/* arguments.c */

/* Reads a word of the input, or an integer. */
const char *word(void);
int64_t number(void);
/* Allocates memory for one call. */
void *take(size_t size, size_t align);
/* Begins the arguments of a call. */
void arguments_begin(void);
/* Reads an argument. */
TVMFFIAny argument(void);
/* Ends the reading of arguments: notes how many references their objects have. */
void arguments_ready(void);
/* Releases the arguments; the process stops if a callee has kept or lost a reference. */
void arguments_end(void);
/* Returns the number of calls of the function that notes its calls, since the last time, or 0. */
int times_called(void);

/* outcome.c */

/* Prints a result and releases it. */
void print_result(TVMFFIAny *result);
/* Takes and prints the error of this thread. */
void print_error(int status);
/* Prints text on one line. */
void print_text(const char *data, size_t size);

/* system.c */

/* Prepares the input and the output. */
void system_begin(void);
/* Loads a library; the process stops if that fails. */
void *system_load(const char *name);
/* Finds a symbol of a library, or of the runtime if there is no library; the process stops if it is missing. */
void *system_find(void *library, const char *name);
/* Allocates zeroed memory at an address; NULL if something is there. */
void *system_room(void *place, size_t size);

/* mach_o.c */

/* Loads a library for macOS; the process stops if that fails. */
void *mach_o_load(const char *path);
/* Finds a symbol of a library that was loaded; NULL if it is missing. */
void *mach_o_find(void *library, const char *name);

#endif
