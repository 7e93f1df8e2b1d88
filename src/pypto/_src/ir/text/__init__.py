"""IR -> text: the printer, and the grammar that it shares with the reader of its texts."""
