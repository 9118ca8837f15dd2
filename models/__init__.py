"""The mini models and the scripts that build, train and measure them."""
