"""What is measured of each trained model, a file for each theme. Nothing here knows which model it measures."""
