"""What is carried out once the decision that allows it is durable."""
