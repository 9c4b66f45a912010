import { expect, test } from 'vitest';
import { DatabaseURL, readDatabaseURL } from '#shared/datasources/tenant-database/url.ts';

test('a URL is split into its parts', () => {
  expect(readDatabaseURL('postgres://us%40er:p%2Fw%3A@db.example.com:6432/my%20db?sslmode=require')).toEqual({
    host: 'db.example.com',
    port: 6432,
    user: 'us@er',
    password: 'p/w:',
    database: 'my db',
    sslmode: 'require',
  });
  expect(readDatabaseURL('POSTGRESQL://u@[::1]/d')).toMatchObject({
    host: '::1',
    port: 5432,
    password: '',
    sslmode: 'prefer',
  });
});

test.each([
  ['mysql://u:topsecret@h/d', 'postgres://'],
  ['topsecret', 'postgres://'],
  ['postgres://u:topsecret@/d', 'host'],
  ['postgres://u:topsecret@h:99999/d', 'not a URL'],
  ['postgres://u:topsecret@h1,h2/d', 'one host'],
  ['postgres://:topsecret@h/d', 'a user'],
  ['postgres://u:topsecret@h', 'a database'],
  ['postgres://u:topsecret@h/', 'a database'],
  ['postgres://u:topsecret%@h/d', 'percent-encoded'],
  ['postgres://u:topsecret@%2Fvar%2Frun/d', 'one host'],
  ['postgres://u:topsecret@h/d?host=/var/run/postgresql', 'parameter "host"'],
  ['postgres://u:topsecret@h/d?sslrootcert=/etc/passwd', 'parameter "sslrootcert"'],
  ['postgres://u:topsecret@h/d?sslmode=whatever', 'sslmode of'],
  ['postgres://u:topsecret@h/d#topsecret', '#'],
])('%s is refused, without repeating its password', (url, words) => {
  const { error } = DatabaseURL.safeParse(url);

  expect(error?.issues[0]?.message).toContain(words);
  expect(JSON.stringify(error?.issues)).not.toContain('topsecret');
});
