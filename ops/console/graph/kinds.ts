import type { Schemas } from '../client/types.ts';
import type { IconName } from '../ui/outlines.ts';

export type Kind = Schemas['NodeDescription'];
export type Kinds = Readonly<Record<string, Kind>>;

/** The headings under which kinds are offered, in this order. */
export const groups = ['Data', 'Logic', 'People', 'Time', 'Code', 'AI', 'Workflows', 'Other'] as const;
export type Group = (typeof groups)[number];

/** A kind of steps as people read it. */
export interface KindWords {
  word: string;
  icon: IconName;
  group: Group;
  /** One sentence of what a step of this kind does. */
  sentence: string;
  /** Other words that people type who look for it. */
  synonyms: string;
}

export const kindWords: Readonly<Record<string, KindWords>> = {
  start: {
    ...{ word: 'Start', icon: 'play', group: 'Other' },
    ...{ sentence: 'Runs begin here, with their inputs.', synonyms: 'begin trigger input' },
  },
  dataQuery: {
    ...{ word: 'Query', icon: 'query', group: 'Data' },
    sentence: 'Runs a saved query: reads, inserts or changes rows of a database.',
    synonyms: 'sql database select insert update delete rows table read write postgres mysql email mail s3 file',
  },
  http: {
    ...{ word: 'HTTP request', icon: 'globe', group: 'Data' },
    sentence: 'Calls an API or any other address.',
    synonyms: 'api rest curl fetch webhook url get post call json email mail slack graphql',
  },
  set: {
    ...{ word: 'Set values', icon: 'pen', group: 'Data' },
    sentence: 'Gives names to values that later steps read.',
    synonyms: 'assign variable edit fields transform map constant rename',
  },
  condition: {
    ...{ word: 'Condition', icon: 'branch', group: 'Logic' },
    sentence: 'Goes on by the first branch whose conditions hold.',
    synonyms: 'if else branch decide filter compare check router',
  },
  switch: {
    ...{ word: 'Switch', icon: 'cases', group: 'Logic' },
    sentence: 'Compares one value with several cases.',
    synonyms: 'case if else branch choose match router',
  },
  loop: {
    ...{ word: 'Loop', icon: 'repeat', group: 'Logic' },
    sentence: 'Repeats steps for each item of a list, one after the other.',
    synonyms: 'for each foreach iterate repeat items rows while',
  },
  map: {
    ...{ word: 'Map', icon: 'grid', group: 'Logic' },
    sentence: 'Runs steps for each item of a list, many at once.',
    synonyms: 'for each foreach parallel batch iterate items split bulk',
  },
  fanout: {
    ...{ word: 'Fan out', icon: 'fork', group: 'Logic' },
    sentence: 'Begins several branches at the same time.',
    synonyms: 'parallel split branches at once fork concurrent',
  },
  join: {
    ...{ word: 'Join', icon: 'join', group: 'Logic' },
    sentence: 'Waits for branches, and collects their results.',
    synonyms: 'merge combine wait for all gather collect together',
  },
  end: {
    ...{ word: 'End', icon: 'flag', group: 'Logic' },
    sentence: 'Ends the run, and says what it answers.',
    synonyms: 'stop finish return output result respond fail terminate exit',
  },
  approval: {
    ...{ word: 'Approval', icon: 'approve', group: 'People' },
    sentence: 'Asks a person to approve or to reject, and waits.',
    synonyms: 'human review confirm sign off decision ask wait',
  },
  dataCollection: {
    ...{ word: 'Form', icon: 'form', group: 'People' },
    sentence: 'Asks a person to fill in a form, and waits.',
    synonyms: 'data collection human input question ask fields wait answer',
  },
  delay: {
    ...{ word: 'Delay', icon: 'clock', group: 'Time' },
    sentence: 'Waits for a time, or until a moment.',
    synonyms: 'wait sleep pause timer until later schedule',
  },
  waitForEvent: {
    ...{ word: 'Wait for an event', icon: 'bell', group: 'Time' },
    sentence: 'Waits until another system says that something has happened.',
    synonyms: 'signal callback webhook resume message pause',
  },
  javascript: {
    ...{ word: 'JavaScript', icon: 'code', group: 'Code' },
    sentence: 'Computes a result with code of your own.',
    synonyms: 'code script function expression transform js node python',
  },
  log: {
    ...{ word: 'Log', icon: 'lines', group: 'Code' },
    sentence: 'Writes a line into the log of the run.',
    synonyms: 'print debug console message note',
  },
  ai: {
    ...{ word: 'Language model', icon: 'spark', group: 'AI' },
    sentence: 'Asks a language model: to classify, to extract, to write.',
    synonyms: 'llm gpt openai chat prompt classify summarize extract agent',
  },
  subWorkflow: {
    ...{ word: 'Workflow', icon: 'flow', group: 'Workflows' },
    sentence: 'Runs another workflow, and waits for its result.',
    synonyms: 'sub-workflow call child execute reuse process',
  },
};

/** A kind that the console does not know is shown by the words of the API. */
export function wordsOf(type: string, kind: Kind | undefined): KindWords {
  const known = Object.hasOwn(kindWords, type) ? kindWords[type] : undefined;
  return known ?? { word: kind?.label ?? type, icon: 'ring', group: 'Other', sentence: '', synonyms: '' };
}

/** Kinds that most workflows have, the first ones first. */
export const usual = ['dataQuery', 'http', 'condition', 'approval', 'javascript', 'loop'];

/** The kinds that all the words that are typed begin a word of. Those whose name begins so are first. */
export function kindsFor(typed: string, kinds: readonly Kind[]): Kind[] {
  const parts = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const found = kinds.flatMap((kind) => {
    const { word, sentence, synonyms } = wordsOf(kind.nodeType, kind);
    const ranks = parts.map((part) =>
      [word, `${synonyms} ${kind.nodeType} ${kind.label}`, sentence].findIndex((text) => hasWord(text, part)),
    );
    return ranks.includes(-1) ? [] : [{ kind, rank: Math.max(...ranks) }];
  });
  return found.toSorted((one, other) => one.rank - other.rank).map(({ kind }) => kind);
}

function hasWord(text: string, beginning: string): boolean {
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .some((word) => word.startsWith(beginning));
}
