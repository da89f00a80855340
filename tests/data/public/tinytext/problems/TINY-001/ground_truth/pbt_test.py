# found by hand
