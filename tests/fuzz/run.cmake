# Runs FUZZER over CORPUS and a bounded number of inputs made of it, the same each time.
file(REMOVE_RECURSE "${SCRATCH}")
file(MAKE_DIRECTORY "${SCRATCH}/new")
execute_process(
  COMMAND "${FUZZER}" -seed=1 -runs=${RUNS} -max_len=${LENGTH} -max_total_time=60 -timeout=20
          -rss_limit_mb=2048 -verbosity=0 -print_funcs=0 "-artifact_prefix=${SCRATCH}/"
          "${SCRATCH}/new" "${CORPUS}"
  COMMAND_ECHO STDOUT
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the input that does it is in ${SCRATCH}")
endif()
