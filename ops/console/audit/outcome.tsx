import type { Schemas } from '../client/types.ts';
import { wordsOfName } from '../ui/field-words.ts';
import { Icon, type IconName } from '../ui/icon.tsx';
import type { Tone } from '../ui/status.tsx';

type Entry = Schemas['AuditLog'];

const looks: Record<Entry['outcome'], { word: string; tone: Tone; icon: IconName }> = {
  success: { word: 'Done', tone: 'ok', icon: 'check' },
  failure: { word: 'Refused', tone: 'bad', icon: 'cross' },
  unknown: { word: 'Under way', tone: 'idle', icon: 'clock' },
};

/** An entry without an end by then is of a process that died. */
const LONG_MS = 600_000;

/** A failure is told with its status: below 500 it was refused. */
export function Outcome({ of: { outcome, error, createdAt } }: { of: Entry }) {
  const { word, tone, icon } = looks[outcome];
  const status = error?.status ?? 0;
  if (outcome === 'unknown' && Date.now() - Date.parse(createdAt) > LONG_MS) return 'Not known';
  return (
    <span className="status" data-tone={tone}>
      <Icon name={icon} />
      {status >= 500 ? 'Failed' : word} {status > 0 && status}
    </span>
  );
}

/** Names the action in words: the operation of a request, else the action of the entry. */
export function doneOf({ metadata, subType }: Entry): string {
  const { request } = metadata as { request?: { operation?: unknown } };
  return typeof request?.operation === 'string' ? wordsOfName(request.operation) : subType;
}

const nouns: Readonly<Record<string, string>> = {
  dataQuery: 'query',
  appPage: 'page',
  oauthConnection: 'account',
  listenerAction: 'action of a listener',
  libraryEntry: 'entry of the library',
  version: 'version of a workflow',
};

/** A type of assets in words. */
export function nounOf(assetType: string): string {
  const words = wordsOfName(assetType);
  return nouns[assetType] ?? (/^[A-Z]{2}/.test(words) ? words : words.charAt(0).toLowerCase() + words.slice(1));
}

/** A field of an asset: `dataQueryTitle` of a query is "Title". */
export function fieldOf(assetType: string, field: string): string {
  const own = field.startsWith(assetType) && field !== assetType ? field.slice(assetType.length) : field;
  return wordsOfName(own.charAt(0).toLowerCase() + own.slice(1));
}
