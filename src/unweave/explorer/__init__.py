"""The explorer: one HTML file in which a trained model runs, decoder and encoder, without a server or a request."""
