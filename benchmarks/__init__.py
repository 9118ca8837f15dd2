"""Scripts that measure the scorer and the statistics, alone and against other tools."""
