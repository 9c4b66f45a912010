"""Enters keys, one a line, into the list of a bucket as a PUT would: thousands of PUTs take minutes."""
import os
import sys

from swift.common import utils

folder, account, bucket = sys.argv[1:]
utils.set_swift_dir(folder)

from swift.common.ring import Ring  # noqa: E402
from swift.container.backend import DATADIR, ContainerBroker  # noqa: E402

part, nodes = Ring(folder, ring_name='container').get_nodes(account, bucket)
name = utils.hash_path(account, bucket)
place = utils.storage_directory(DATADIR, part, name)
broker = ContainerBroker(
    os.path.join(folder, 'devices', nodes[0]['device'], place, name + '.db'), account=account, container=bucket
)
now = utils.Timestamp.now().internal
broker.merge_items([
    {
        'name': key.rstrip('\n'),
        'created_at': now,
        'size': 1,
        'content_type': 'text/plain',
        'etag': '9dd4e461268c8034f5c8564e155c67a6',
        'deleted': 0,
        'storage_policy_index': 0,
    }
    for key in sys.stdin
])
