/** An IMAP server for tests: loopback, mail in a folder of the test's, ended with the process that started it. */
import { execFile } from 'node:child_process';
import { access, chmod, chown, glob, mkdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '#ops/embedded/ports.ts';
import { type Found, findProgram } from './debian-programs.ts';
import { startTiedServer, type TiedServer } from './tied-server.ts';

const exec = promisify(execFile);

export interface DovecotOptions {
  dir: string;
  /** The password of every user. A user exists as soon as it signs in. */
  password: string;
  certificates?: { certificate: string; key: string };
}

export interface EmbeddedDovecot extends TiedServer {
  /** Port of the listener with TLS from the start. */
  readonly tlsPort: number;
}

/** Finds the program that reads the configuration, and that starts the server: by itself the server would look for an installed one. */
export function findDovecot(): Promise<Found> {
  return findProgram(['doveconf'], 'dovecot-imapd', (path) => exec(path, ['-d', '-h', 'protocols']));
}

export async function startDovecot(options: DovecotOptions): Promise<EmbeddedDovecot> {
  const found = await findDovecot();
  if (found.path === null) throw new Error(`There is no Dovecot: ${found.reason}.`);
  const [port, tlsPort] = [await freePort(), await freePort()];
  const installation = await findInstallation(found.path, options);
  const file = await configure(options, { ...installation, port, tlsPort });
  const server = await startTiedServer({
    name: 'Dovecot',
    program: found.path,
    args: ['-c', file, '-m', 'master', '-e', installation.server, '-F', '-c', file],
    port,
    log: join(options.dir, 'dovecot.log'),
    greeting: { hear: '* OK' },
  });
  const { kill9 } = server;
  return Object.assign(server, {
    tlsPort,
    async kill9() {
      // Connections have processes of their own, which would go on for a while.
      process.kill(-server.pid, 'SIGKILL');
      await kill9();
    },
  });
}

/** Dovecot refuses root as the owner of mail. A user without rights needs no other. */
const NOBODY = { name: 'nobody', group: 'nogroup', uid: 65_534, gid: 65_534 };

interface Installation {
  server: string;
  /** Settings for folders that are not where Debian has them. */
  folders: string[];
}

/** The path that is compiled in, and one of the same length, of a link in the folder where all processes of a server begin. */
const MODULES = { installed: '/usr/lib/dovecot/modules', linked: './gantry-dovecot-modules' };

/** An unpacked package looks for some of its modules where an installed one has them, which no setting changes. */
async function findInstallation(program: string, { dir }: DovecotOptions): Promise<Installation> {
  const root = join(dirname(await realpath(program)), '..', 'root');
  const server = join(root, 'usr', 'sbin', 'dovecot');
  if (!(await isThere(server))) return { server: '/usr/sbin/dovecot', folders: [] };
  const library = join(root, 'usr', 'lib', 'dovecot');
  const modules = join(library, 'modules');
  const own = join(dir, 'lib');
  await Promise.all([own, baseOf(dir)].map((folder) => mkdir(folder, { recursive: true })));
  await symlink(modules, join(baseOf(dir), MODULES.linked)).catch(() => undefined);
  const compiled = await readFile(join(library, 'libdovecot.so.0'), 'latin1');
  const linked = compiled.replaceAll(`${MODULES.installed}\0`, `${MODULES.linked}\0`);
  await writeFile(join(own, 'libdovecot.so.0'), linked, 'latin1');
  const system = await Array.fromAsync(glob('{usr/lib,lib}/*-linux-gnu*', { cwd: root }));
  const libraries = [own, ...system.map((folder) => join(root, folder)), library, join(modules, 'old-stats')];
  return {
    server,
    folders: [
      `libexec_dir = ${library}`,
      `mail_plugin_dir = ${modules}`,
      `import_environment = TZ LD_LIBRARY_PATH=${libraries.join(':')}`,
    ],
  };
}

function baseOf(dir: string): string {
  return join(dir, 'run');
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function configure(
  { dir, password, certificates }: DovecotOptions,
  { folders, port, tlsPort }: Installation & { port: number; tlsPort: number },
): Promise<string> {
  const { uid, gid, username } = userInfo();
  const owner = uid === 0 ? NOBODY : { name: username, group: '', uid, gid };
  const mail = join(dir, 'mail');
  await mkdir(mail, { recursive: true });
  if (uid === 0) {
    await chown(mail, owner.uid, owner.gid);
    // Up to the folder of the mail. Other users may pass, and not look.
    for (let folder = dir; folder !== dirname(folder) && folder !== '/tmp'; folder = dirname(folder))
      await chmod(folder, 0o711).catch(() => undefined);
  }
  const files = { certificate: join(dir, 'cert.pem'), key: join(dir, 'key.pem') };
  if (certificates) {
    await writeFile(files.certificate, certificates.certificate);
    await writeFile(files.key, certificates.key);
  }
  const lines = [
    'protocols = imap',
    'listen = 127.0.0.1',
    `base_dir = ${baseOf(dir)}`,
    `state_dir = ${join(dir, 'state')}`,
    ...folders,
    'log_path = /dev/stderr',
    'disable_plaintext_auth = no',
    `default_internal_user = ${owner.name}`,
    `default_login_user = ${owner.name}`,
    ...(owner.group === '' ? [] : [`default_internal_group = ${owner.group}`]),
    `mail_location = maildir:${mail}/%u`,
    'first_valid_uid = 1',
    `passdb {\n  driver = static\n  args = password=${password}\n}`,
    `userdb {\n  driver = static\n  args = uid=${owner.uid} gid=${owner.gid} home=${mail}/%u\n}`,
    'service anvil {\n  chroot =\n}',
    'service imap-login {',
    '  chroot =',
    `  inet_listener imap {\n    port = ${port}\n  }`,
    `  inet_listener imaps {\n    port = ${certificates ? tlsPort : 0}\n  }`,
    '}',
    ...(certificates ? ['ssl = yes', `ssl_cert = <${files.certificate}`, `ssl_key = <${files.key}`] : ['ssl = no']),
    'mail_fsync = never',
    'auth_failure_delay = 0',
  ];
  const file = join(dir, 'dovecot.conf');
  await writeFile(file, `${lines.join('\n')}\n`);
  return file;
}
