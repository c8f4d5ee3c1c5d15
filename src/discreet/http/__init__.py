"""The HTTP frontend: routes, request bodies, authentication and responses of the JSON API.

The work behind a route is shared with every other frontend and belongs to the services. The pages of the same
server are in the `console` package.
"""
