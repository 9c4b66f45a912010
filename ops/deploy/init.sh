#!/bin/sh
# Writes .env for docker-compose.yml, with passwords and keys that are made for it:
#   ops/deploy/init.sh https://gantry.example.com
# A file that is there is never changed: to lose SECRETS_KEYS is to lose every stored credential.
set -eu

cd "$(dirname "$0")/../.."
url="${1:-}"
file="${ENV_FILE:-.env}"

case "$url" in
  https://?*) ;;
  http://localhost:* | http://127.0.0.1:*) ;;
  *)
    echo "usage: ops/deploy/init.sh <public URL>, such as https://gantry.example.com (http:// on this machine alone: http://localhost:8080)" >&2
    exit 1
    ;;
esac
if [ -e "$file" ]; then
  echo "$file is there already, and stays as it is. Move it away to make another one." >&2
  exit 1
fi

# Here, since a command that fails within the text below would leave its value empty.
postgres_password=$(openssl rand -hex 24)
tenants_password=$(openssl rand -hex 24)
redis_password=$(openssl rand -hex 24)
secrets_key=$(openssl rand -base64 32)
if [ -z "$postgres_password" ] || [ -z "$tenants_password" ] || [ -z "$redis_password" ] || [ -z "$secrets_key" ]; then
  echo "openssl made no random values, so nothing is written." >&2
  exit 1
fi

umask 077
cat > "$file.new" <<END
# Made by ops/deploy/init.sh. Keep a copy where this machine is not: without SECRETS_KEYS no stored credential can be opened.
POSTGRES_PASSWORD=$postgres_password
TENANTS_PASSWORD=$tenants_password
REDIS_PASSWORD=$redis_password
SECRETS_KEYS=k1:$secrets_key
PUBLIC_URL=${url%/}
# The network of the containers, if this machine has another use for these addresses; TRUSTED_PROXIES changes with it.
#NETWORK=172.30.93
# The proxy in front that ends TLS, as the containers see it: one on this machine comes from the gateway of their network. Never a
# whole network that clients are in, too: each of them could claim any address.
TRUSTED_PROXIES=172.30.93.1
# Mails of invitations and new passwords: set both.
#SMTP_URL=smtp://user:password@mail.example.com:587
#MAIL_FROM=Gantry <gantry@example.com>
END
mv "$file.new" "$file"
echo "$file is written. Next:

  docker compose up --build -d
  docker compose exec api node ops/accounts.ts invite you@example.com
"
