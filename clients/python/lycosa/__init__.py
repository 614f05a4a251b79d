"""Client for the Lycosa crawl and job scheduler. Needs nothing but the standard library.

    from lycosa import Client, status_pack

    lycosa = Client("http://127.0.0.1:8040")
    lycosa.put_project("news", status="RUNNING", rate=5, burst=10)
    lycosa.submit({"project": "news", "url": "https://example.org/"})
    for task in lycosa.lease(max=10, wait=10):
        lycosa.report(status_pack(task, ok=True))
"""

from .client import Client
from .errors import LycosaError, Unreachable
from .packs import status_pack, taskid_of

__all__ = ["Client", "LycosaError", "Unreachable", "status_pack", "taskid_of"]
__version__ = "0.1.0"
