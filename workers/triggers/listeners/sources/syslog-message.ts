import type { JsonObject } from '#shared/core/json.ts';
import { setKey } from '#shared/core/record.ts';
import { severities } from '#shared/triggers/listeners/types/syslog.ts';

const facilities = [
  ...['kern', 'user', 'mail', 'daemon', 'auth', 'syslog', 'lpr', 'news', 'uucp', 'cron', 'authpriv', 'ftp'],
  ...['ntp', 'security', 'console', 'clockdaemon', 'local0', 'local1', 'local2', 'local3', 'local4', 'local5'],
  ...['local6', 'local7'],
];

export interface SyslogMessage extends JsonObject {
  facility: string;
  severity: (typeof severities)[number];
  hostname: string | null;
  appName: string | null;
  processID: string | null;
  messageID: string | null;
  sentAt: string | null;
  structuredData: JsonObject;
  message: string;
}

/** Priority of messages without one, as RFC 3164 says: user, notice. */
const DEFAULT_PRIORITY = 13;

/** Reads RFC 5424 and, as far as senders keep to it, RFC 3164. A text that is neither becomes the message as a whole. */
export function readSyslog(text: string): SyslogMessage {
  const [head = '', digits] = /^<(\d{1,3})>/.exec(text) ?? [];
  const priority = digits === undefined || Number(digits) > 191 ? DEFAULT_PRIORITY : Number(digits);
  const known = {
    facility: facilities[priority >> 3] ?? 'user',
    severity: severities[priority & 7] ?? 'notice',
  };
  const rest = text.slice(head.length);
  return { ...none, ...known, ...(readNew(rest) ?? readOld(rest)) };
}

const none = { hostname: null, appName: null, processID: null, messageID: null, sentAt: null, structuredData: {} };

type Rest = Partial<SyslogMessage> & Pick<SyslogMessage, 'message'>;

/** `1 2026-11-23T03:00:00Z host app 123 ID47 [id name="value"] message`. */
function readNew(text: string): Rest | undefined {
  const found = /^1 (\S{1,64}) (\S{1,255}) (\S{1,48}) (\S{1,128}) (\S{1,32}) ([\s\S]*)$/.exec(text);
  if (!found) return undefined;
  const [, time = '', hostname = '', appName = '', processID = '', messageID = '', end = ''] = found;
  const { structuredData, message } = readData(end);
  return {
    sentAt: timeOf(time),
    hostname: orNull(hostname),
    appName: orNull(appName),
    processID: orNull(processID),
    messageID: orNull(messageID),
    structuredData,
    message: message.replace(/^\uFEFF/, ''),
  };
}

function orNull(text: string): string | null {
  return text === '-' ? null : text;
}

function timeOf(text: string): string | null {
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}

/** Parses in one pass: one expression with nested repetitions could take very long for a malicious text. */
function readData(text: string): { structuredData: JsonObject; message: string } {
  const structuredData: JsonObject = {};
  if (text.startsWith('-')) return { structuredData, message: text.slice(1).replace(/^ /, '') };
  let at = 0;
  while (text[at] === '[') {
    const element = /\[([^\s\]="]{1,32})((?: [^\s\]="]{1,32}="(?:[^"\\\]]|\\.)*")*)\]/y;
    element.lastIndex = at;
    const found = element.exec(text);
    if (!found) break;
    const [whole, id = '', parameters = ''] = found;
    const pairs = [...parameters.matchAll(/ ([^\s\]="]{1,32})="((?:[^"\\\]]|\\.)*)"/g)];
    const values = pairs.map(([, name = '', value = '']) => [name, value.replace(/\\(["\\\]])/g, '$1')]);
    setKey(structuredData, id, Object.fromEntries(values));
    at += whole.length;
  }
  return { structuredData, message: text.slice(at).replace(/^ /, '') };
}

/** `Nov 23 03:00:00 host app[123]: message`. It has no year, so the time is left out. */
function readOld(text: string): Rest {
  const found = /^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (\S{1,255}) ([\s\S]*)$/.exec(text);
  if (!found) return { message: text };
  const [, hostname = '', end = ''] = found;
  const [tag = '', appName = null, processID = null] = /^([\w./-]{1,64})(?:\[([^\]]{1,64})\])?: ?/.exec(end) ?? [];
  return { hostname, appName, processID, message: end.slice(tag.length) };
}
