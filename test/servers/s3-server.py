"""OpenStack Swift in one process: its S3 interface, and one disk of one copy. Prints a line when it is ready."""
import os
import socket
import sys

import eventlet
import eventlet.wsgi
from swift.common import utils

folder, access_key, secret_key, *ports = sys.argv[1:]
account, user = access_key.split(':')
with open(os.path.join(folder, 'swift.conf'), 'w') as file:
    file.write('[swift-hash]\nswift_hash_path_suffix = test\n')
# Nothing has to outlive the machine, and a disk is slow.
os.fsync = os.fdatasync = lambda file: None
utils.set_swift_dir(folder)
utils.eventlet_monkey_patch()

from swift.common.ring import RingBuilder  # noqa: E402
from swift.common.utils import NullLogger  # noqa: E402
from swift.common.wsgi import SwiftHttpProtocol, loadapp  # noqa: E402

STORES = ['account', 'container', 'object']
PIPELINE = ['catch_errors', 'gatekeeper', 'listing_formats', 's3api', 'tempauth', 'slo']


def write(name, text):
    path = os.path.join(folder, name)
    with open(path, 'w') as file:
        file.write(text)
    return path


def write_ring(store, port):
    # The same device each time, so that a server started again finds what it had.
    builder = RingBuilder(2, 1, 0)
    place = {'ip': '127.0.0.1', 'port': port, 'replication_ip': '127.0.0.1', 'replication_port': port}
    builder.add_dev({'id': 0, 'region': 1, 'zone': 1, 'device': 'disk', 'weight': 1, **place})
    builder.rebalance()
    builder.get_ring().save(os.path.join(folder, store + '.ring.gz'))


def store_config(store):
    return f'''[DEFAULT]
devices = {folder}/devices
mount_check = false
swift_dir = {folder}
disable_fallocate = true
fallocate_reserve = 0
[pipeline:main]
pipeline = app
[app:app]
use = egg:swift#{store}
'''


def proxy_config():
    filters = ''.join(f'[filter:{name}]\nuse = egg:swift#{name}\n' for name in PIPELINE if name != 'tempauth')
    return f'''[DEFAULT]
swift_dir = {folder}
[pipeline:main]
pipeline = {' '.join(PIPELINE)} proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
{filters}[filter:tempauth]
use = egg:swift#tempauth
user_{account}_{user} = {secret_key} .admin
'''


class Cache:
    """Replaces memcached, which tempauth requires. A change of a bucket drops its entries."""

    def __init__(self):
        self.kept = {}

    def get(self, key, **options):
        return self.kept.get(key)

    def set(self, key, value, **options):
        self.kept[key] = value

    def delete(self, key, **options):
        self.kept.pop(key, None)


def with_cache(app):
    cache = Cache()

    def answer(environ, start_response):
        return app({**environ, 'swift.cache': cache}, start_response)

    return answer


os.makedirs(os.path.join(folder, 'devices', 'disk'), exist_ok=True)
for store, port in zip(STORES, ports[1:]):
    write_ring(store, int(port))

servers = []
for name, port in zip(['proxy', *STORES], ports):
    config = write(name + '.conf', proxy_config() if name == 'proxy' else store_config(name))
    app = loadapp(config, global_conf={'log_name': name})
    if name == 'proxy':
        app = with_cache(app)
    listener = eventlet.listen(('127.0.0.1', int(port)), backlog=512)
    # Without it every answer waits for 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Clients look for ETag by that name and no other.
    form = {'protocol': SwiftHttpProtocol, 'capitalize_response_headers': False}
    servers.append(eventlet.spawn(eventlet.wsgi.server, listener, app, NullLogger(), **form))
print('ready', flush=True)
for server in servers:
    server.wait()
