from hypothesis import settings

# A machine may be busy with something else: how long one example takes says nothing.
settings.register_profile("sharespec", deadline=None)
settings.load_profile("sharespec")
