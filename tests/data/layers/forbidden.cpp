// A source that breaks the rules: the layer check must refuse it.
#include <caf/all.hpp>
