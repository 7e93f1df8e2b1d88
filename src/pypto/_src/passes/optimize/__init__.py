"""Optional passes that make programs smaller or faster."""
