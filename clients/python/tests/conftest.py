pytest_plugins = ["pytester", "modelhost_sim.pytest_plugin"]
