"""The promises of the KIPs, and faulty implementations that break each of them."""
