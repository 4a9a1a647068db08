// A library that stands for NVRTC and nvJitLink: it prints the options that it is given.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

static int show(int number, char **options) {
    for (int option = 0; option < number; option++) printf("%s\n", options[option]);
    return number;
}

// Looks itself up in the scope of its own library, which the loader knows by the return address of the call.
int look(void) { return dlsym(RTLD_DEFAULT, "look") == (void *)look; }

int nvrtcCompileProgram(void *program, int number, char **options) { return (void)program, show(number, options); }

int nvJitLinkCreate(void **linker, unsigned number, char **options) { return (void)linker, show(number, options); }

int __nvJitLinkCreate_13_0(void **linker, unsigned number, char **options) { return (void)linker, show(number, options); }
