import { parseExact } from '#shared/core/lossless-json.ts';
import { shellWords } from './words.ts';

interface Pair {
  key: string;
  value: string;
}

/** Settings of a step that sends the request. */
export interface Request {
  url: string;
  method: string;
  headers: Pair[];
  queryParams: Pair[];
  bodyType?: 'json' | 'text' | 'form';
  body?: unknown;
  timeoutSeconds?: number;
}

export interface ReadCurl {
  request: Request;
  /** Parts of the command that the step does not have, in words. */
  notes: string[];
}

/** Parts of a request, collected while the words are read. */
interface Reading {
  url?: string;
  method?: string;
  headers: Pair[];
  data: string[];
  form: Pair[];
  isGet: boolean;
  isJSON: boolean;
  timeoutSeconds?: number;
  notes: string[];
}

type Take = (reading: Reading, value: string) => void;

const header = (key: string): Take => {
  return ({ headers }, value) => headers.push({ key, value });
};
const data: Take = ({ data: parts, notes }, value) => {
  if (value.startsWith('@')) notes.push(`The file ${value.slice(1)} is not read: put its content into the body`);
  else parts.push(value);
};

const request: Take = (reading, value) => {
  reading.method = value.toUpperCase();
};
const anyHeader: Take = ({ headers }, value) => {
  const [, key = '', content = ''] = /^([^:;]+)[:;]\s*([\s\S]*)$/.exec(value) ?? [];
  if (key !== '') headers.push({ key: key.trim(), value: content });
};
const user: Take = ({ headers, notes }, value) => {
  const bytes = new TextEncoder().encode(value);
  headers.push({ key: 'Authorization', value: `Basic ${btoa(String.fromCharCode(...bytes))}` });
  notes.push('A password is in the header Authorization: better a secret variable, {{vars.name}}');
};
const field: Take = ({ form, notes }, value) => {
  const at = value.indexOf('=');
  const [key, content] = [value.slice(0, at), value.slice(at + 1)];
  if (at < 1) return;
  if (/^[@<]/.test(content)) notes.push(`The file of the field ${key} is not sent`);
  else form.push({ key, value: content });
};
const encoded: Take = (reading, value) => {
  const [, name = '', content = ''] = /^([^=]*=)?([\s\S]*)$/.exec(value) ?? [];
  data(reading, `${name === '=' ? '' : name}${encodeURIComponent(content)}`);
};

/** Flags with a value. */
const taking: Readonly<Record<string, Take>> = {
  '-X': request,
  '--request': request,
  '-H': anyHeader,
  '--header': anyHeader,
  '-d': data,
  '--data': data,
  '--data-ascii': data,
  '--data-binary': data,
  '--data-raw': ({ data: parts }, value) => parts.push(value),
  '--data-urlencode': encoded,
  '--json': (reading, value) => {
    reading.isJSON = true;
    data(reading, value);
  },
  '-u': user,
  '--user': user,
  '-F': field,
  '--form': field,
  '-A': header('User-Agent'),
  '--user-agent': header('User-Agent'),
  '-e': header('Referer'),
  '--referer': header('Referer'),
  '-b': header('Cookie'),
  '--cookie': header('Cookie'),
  '--oauth2-bearer': ({ headers }, value) => headers.push({ key: 'Authorization', value: `Bearer ${value}` }),
  '--url': (reading, value) => {
    reading.url ??= value;
  },
  '-m': (reading, value) => {
    reading.timeoutSeconds = Math.min(Math.max(Math.ceil(Number(value)) || 1, 1), 3_600);
  },
};
const aliases: Readonly<Record<string, string>> = {
  '--max-time': '-m',
  '--get': '-G',
  '--head': '-I',
  '--insecure': '-k',
};

/** Flags without a value. */
const alone: Readonly<Record<string, (reading: Reading) => void>> = {
  '-G': (reading) => {
    reading.isGet = true;
  },
  '-I': (reading) => {
    reading.method ??= 'HEAD';
  },
  '-k': ({ notes }) => notes.push('-k is left out: a step always checks certificates'),
};

/** Flags that say how curl shows or fetches the answer. A step follows redirects and decompresses by itself. */
const WITHOUT_EFFECT = new Set(
  '-s -S -i -v -f -L -# -g --silent --show-error --include --verbose --fail --location --compressed --globoff --http1.1 --http2 --no-buffer -N'.split(
    ' ',
  ),
);
/** Flags that a step has nothing for, and whose next word is their value. */
const IGNORED_WITH_VALUE = new Set(
  '-o -w -x -c -E -r -T --output --write-out --proxy --cookie-jar --cert --key --cacert --range --upload-file --connect-timeout --retry --resolve --limit-rate'.split(
    ' ',
  ),
);

/** Settings of a step by a curl command. Throws where it names no address. */
export function readCurl(command: string): ReadCurl {
  const words = shellWords(command.replace(/^\s*\$\s+/, ''));
  const reading: Reading = { headers: [], data: [], form: [], isGet: false, isJSON: false, notes: [] };
  const left = words.slice(/^curl(?:\.exe)?$/.test(words[0] ?? '') ? 1 : 0).flatMap(unbundled);
  for (let word = left.shift(); word !== undefined; word = left.shift()) readWord(reading, word, left);
  if (reading.url === undefined) throw new Error('The command names no address');
  return { request: requestOf(reading, reading.url), notes: [...new Set(reading.notes)] };
}

/** `-sSL` are three flags, `-XPOST` is one with its value, and so is `--request=POST`. */
function unbundled(word: string): string[] {
  const [, long, value = ''] = /^(--[\w-]+)=([\s\S]*)$/.exec(word) ?? [];
  if (long !== undefined) return [long, value];
  if (!/^-[^-]./.test(word)) return [word];
  const flag = word.slice(0, 2);
  if (flag in taking || IGNORED_WITH_VALUE.has(flag)) return [flag, word.slice(2)];
  return [flag, ...unbundled(`-${word.slice(2)}`)];
}

function readWord(reading: Reading, word: string, left: string[]): void {
  const flag = aliases[word] ?? word;
  const take = taking[flag];
  if (take) take(reading, left.shift() ?? '');
  else if (alone[flag]) alone[flag](reading);
  else if (IGNORED_WITH_VALUE.has(flag)) reading.notes.push(`${word} ${left.shift() ?? ''} is left out`.trim());
  else if (/^-./.test(flag)) {
    if (!WITHOUT_EFFECT.has(flag)) reading.notes.push(`${word} is not known, and left out`);
  } else reading.url ??= word;
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'];

function requestOf(reading: Reading, address: string): Request {
  const { headers, data: parts, form, isGet, timeoutSeconds, notes } = reading;
  const hasBody = !isGet && (parts.length > 0 || form.length > 0);
  const asked = reading.method ?? (hasBody ? 'POST' : 'GET');
  const method = METHODS.includes(asked) ? asked : 'GET';
  if (method !== asked) notes.push(`A step cannot send ${asked}`);
  if (form.length > 0) notes.push('A step sends a form in the encoding of addresses, not in parts (-F)');
  return {
    url: /^[a-z][a-z\d+.-]*:\/\//i.test(address) || address.startsWith('{{') ? address : `http://${address}`,
    method,
    ...(hasBody ? bodyOf(reading) : { headers }),
    queryParams: isGet ? pairsIn(parts.join('&')) : [],
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
  };
}

function bodyOf({ headers, data: parts, form, isJSON }: Reading): Pick<Request, 'headers' | 'bodyType' | 'body'> {
  const isType = ({ key }: Pair) => key.toLowerCase() === 'content-type';
  const type = headers.find(isType)?.value ?? (isJSON ? 'application/json' : 'application/x-www-form-urlencoded');
  const others = headers.filter((one) => !isType(one));
  const accepts = isJSON && !others.some(({ key }) => key.toLowerCase() === 'accept');
  const own = accepts ? [...others, { key: 'Accept', value: 'application/json' }] : others;
  const text = isJSON ? parts.join('') : parts.join('&');
  if (form.length > 0) return { headers: others, bodyType: 'form', body: objectOf(form) };
  const json = /[/+]json\b/i.test(type) ? parsed(text) : undefined;
  if (json !== undefined) return { headers: own, bodyType: 'json', body: json };
  const pairs = /x-www-form-urlencoded/i.test(type) ? pairsIn(text) : [];
  const isForm = pairs.length > 0 && new Set(pairs.map(({ key }) => key)).size === pairs.length && /^[^{[]/.test(text);
  if (isForm) return { headers: own, bodyType: 'form', body: objectOf(pairs) };
  return { headers: [...own, { key: 'Content-Type', value: type }], bodyType: 'text', body: text };
}

function pairsIn(text: string): Pair[] {
  return [...new URLSearchParams(text)].map(([key, value]) => ({ key, value }));
}

function objectOf(pairs: readonly Pair[]): Record<string, string> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, value]));
}

function parsed(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}
