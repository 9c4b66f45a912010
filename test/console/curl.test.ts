/** Steps from `curl` commands. */
import { expect, test } from 'vitest';
import { readCurl } from '#ops/console/curl/read.ts';
import { shellWords } from '#ops/console/curl/words.ts';
import { http } from '#shared/workflow/nodes/kinds/http.ts';

const requestOf = (command: string) => readCurl(command).request;

test('words are split as a shell does', () => {
  expect(shellWords(`curl  'a b' "c \\"d\\" $X" e\\ f\\\n  g'h'"i" $'j\\'k\\u00e9\\n' '' ^ it's`)).toEqual([
    ...['curl', 'a b', 'c "d" $X', 'e f', 'ghi', "j'ké\n", '', '^', "it's"],
  ]);
});

test.each([
  ['curl https://a.example/x?y=1', { method: 'GET', url: 'https://a.example/x?y=1', headers: [] }],
  ['$ curl -sSL a.example', { method: 'GET', url: 'http://a.example' }],
  ['curl -XDELETE https://a.example', { method: 'DELETE' }],
  ['curl --request=PUT --url https://a.example', { method: 'PUT', url: 'https://a.example' }],
  ['curl -I https://a.example', { method: 'HEAD' }],
  [
    `curl https://a.example -H 'Content-Type: application/json' -H 'X-A: b: c' --data-raw '{"n": 1, "t": ["x"]}'`,
    { method: 'POST', bodyType: 'json', body: { n: 1, t: ['x'] }, headers: [{ key: 'X-A', value: 'b: c' }] },
  ],
  [
    `curl --json '{"a":1}' https://a.example`,
    { body: { a: 1 }, headers: [{ key: 'Accept', value: 'application/json' }] },
  ],
  ['curl -d a=1 -d b=x%20y https://a.example', { method: 'POST', bodyType: 'form', body: { a: '1', b: 'x y' } }],
  ['curl -d a=1 -d a=2 https://a.example', { bodyType: 'text', body: 'a=1&a=2' }],
  [`curl --data-urlencode 'q=a&b' https://a.example`, { bodyType: 'form', body: { q: 'a&b' } }],
  [
    'curl -G -d a=1 --data b=2 https://a.example',
    {
      method: 'GET',
      queryParams: [
        { key: 'a', value: '1' },
        { key: 'b', value: '2' },
      ],
      headers: [],
    },
  ],
  [
    'curl -u ann:pässword https://a.example',
    { headers: [{ key: 'Authorization', value: 'Basic YW5uOnDDpHNzd29yZA==' }] },
  ],
  ['curl -F name=Ann https://a.example', { method: 'POST', bodyType: 'form', body: { name: 'Ann' } }],
  [
    `curl -b 'a=1' -A me -m 2.5 https://a.example`,
    {
      headers: [
        { key: 'Cookie', value: 'a=1' },
        { key: 'User-Agent', value: 'me' },
      ],
      timeoutSeconds: 3,
    },
  ],
  [`curl '{{vars.base}}/x'`, { url: '{{vars.base}}/x' }],
])('%s', (command, wanted) => {
  const request = requestOf(command);

  expect(request).toMatchObject(wanted);
  expect(http.config.safeParse({ ...http.defaultValue, ...request }).error?.issues ?? []).toEqual([]);
});

test('what a step does not have is named', () => {
  const { notes } = readCurl(
    `curl -k -o out.txt --frobnicate -X OPTIONS -d @file.json -F 'pic=@a.png' -u a:b https://a.example`,
  );

  for (const word of ['-k', '-o out.txt', '--frobnicate', 'OPTIONS', 'file.json', 'pic', 'password'])
    expect(
      notes.filter((note) => note.includes(word)),
      word,
    ).toHaveLength(1);
  expect(readCurl('curl -sS --compressed https://a.example').notes).toEqual([]);
  expect(() => readCurl('curl -X POST')).toThrow('names no address');
});
