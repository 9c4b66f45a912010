/** A part of a text of the server: words, what it has between backticks, or a moment. */
export interface Part {
  kind: 'words' | 'code' | 'moment';
  text: string;
}

/** Matches code between backticks, and moments in UTC. */
const SPECIAL = /`([^`\n]+)`|\b(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|\+00:00))(?!\w)/g;

export function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const { 0: whole, 1: code, 2: moment, index } of text.matchAll(SPECIAL)) {
    if (moment !== undefined && Number.isNaN(Date.parse(moment))) continue;
    if (index > end) parts.push({ kind: 'words', text: text.slice(end, index) });
    parts.push(code === undefined ? { kind: 'moment', text: moment ?? whole } : { kind: 'code', text: code });
    end = index + whole.length;
  }
  if (end < text.length) parts.push({ kind: 'words', text: text.slice(end) });
  return parts;
}
