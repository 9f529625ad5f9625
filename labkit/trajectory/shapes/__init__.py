"""One reader a shape: what each framework and provider writes, read message by message and part by part."""
