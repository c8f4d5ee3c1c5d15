"""Publishing a recoded table: what is asked for, counted, found, judged, written and certified."""
