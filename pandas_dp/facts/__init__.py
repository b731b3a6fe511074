"""What is publicly known: kinds of columns, schemas, checked arguments, calls as they were typed. Nothing here sees a row."""
