"""The statement form: a second text of the same IR (docs/statement-form.md)."""
