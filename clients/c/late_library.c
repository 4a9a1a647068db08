#include "late.h"

#include <stddef.h>

void (*late_function)(void);

__attribute__((destructor)) static void finish(void) {
    if (late_function != NULL) {
        late_function();
    }
}
