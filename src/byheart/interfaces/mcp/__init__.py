"""The Model Context Protocol: memory as tools, resources and prompts, over standard streams or HTTP.

Our own loop rather than an SDK's: agents wait for the first answer, and an SDK takes longer to load than they like. The official
client is what it is tested with.
"""
