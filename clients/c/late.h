/* A library of the program's own that outlives the driver's: the program is linked with it, and so it is loaded first and
   finished last. */
#ifndef LATE_H
#define LATE_H

/* Called when the library is finished, after everything that was loaded later. */
extern void (*late_function)(void);

#endif
