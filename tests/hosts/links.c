/* Loads libraries one after the other, calls `__tvm_ffi_f` of each in two threads, and unloads it; tells what came of
 * it in one line for each. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

typedef int SafeCall(void *, const void *, int, void *);

static SafeCall *function;

static void *call(void *unused) {
    for (int n = 0; n < 7; n += 3) printf("%d ", function(NULL, NULL, n, NULL));
    return unused;
}

int main(int count, char **paths) {
    for (int at = 1; at < count; ++at) {
        void *library = dlopen(paths[at], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            printf("not loaded: %s\n", dlerror());
            continue;
        }
        function = (SafeCall *)dlsym(library, "__tvm_ffi_f");
        if (!function) {
            printf("no function: %s\n", dlerror());
            continue;
        }
        call(NULL);
        pthread_t thread;
        if (pthread_create(&thread, NULL, call, NULL) || pthread_join(thread, NULL)) return 2;
        call(NULL);
        dlclose(library);
        printf("\n");
        fflush(stdout);
    }
    return 0;
}
