// A program that is linked to NVRTC.
int nvrtcCompileProgram(void *program, int number, char **options);

int main(int count, char **arguments) { return nvrtcCompileProgram(0, count - 1, arguments + 1); }
