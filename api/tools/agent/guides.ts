import { readdir, readFile } from 'node:fs/promises';
import { AppError } from '#shared/core/errors.ts';
import { WordIndex } from '../word-index.ts';
import type { AgentTool } from './define.ts';
import { success, text } from './define.ts';

/** The documentation of this deployment. An image without it offers none. */
const folder = new URL('../../../ops/guides/', import.meta.url);

export interface Guide {
  name: string;
  title: string;
  text: string;
}

let read: Promise<readonly Guide[]> | undefined;

/** All guides, read once in a process. */
export function listGuides(): Promise<readonly Guide[]> {
  read ??= readAll().catch(() => []);
  return read;
}

async function readAll(): Promise<Guide[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.md') && file !== 'README.md').sort();
  return Promise.all(
    files.map(async (file) => {
      const whole = await readFile(new URL(file, folder), 'utf8');
      return { name: file.slice(0, -3), title: /^# (.+)$/m.exec(whole)?.[1] ?? file, text: whole };
    }),
  );
}

export async function readGuide(name: string): Promise<string> {
  const guides = await listGuides();
  const found = guides.find((guide) => guide.name === name);
  if (found) return found.text;
  const names = guides.map((guide) => guide.name).join(', ');
  throw new AppError('NOT_FOUND', `There is no guide ${JSON.stringify(name.slice(0, 100))}. There are ${names}`);
}

interface Section {
  guide: string;
  heading: string;
  text: string;
}

const MAX_SECTION = 1_500;
const MAX_SECTIONS = 10;

let index: Promise<WordIndex<Section>> | undefined;

/** Sections of the guides that match best, best first. */
async function searchGuides(query: string, limit: number): Promise<Section[]> {
  index ??= listGuides().then(
    (guides) => new WordIndex(guides.flatMap(sectionsOf), ['heading', 'text'], { heading: 3 }),
  );
  return (await index).find(query).slice(0, limit);
}

function sectionsOf({ name, title, text: whole }: Guide): Section[] {
  return whole.split(/^(?=#{2,3} )/m).map((part) => {
    const heading = /^#{2,3} (.+)$/m.exec(part)?.[1];
    return { guide: name, heading: heading === undefined ? title : `${title}: ${heading}`, text: part };
  });
}

export const searchDocs: AgentTool = {
  name: 'search_docs',
  title: 'Search the documentation',
  group: 'Documentation',
  uses: ['search_tenant'],
  does: 'Search the guides of this service: what steps, queries, templates, listeners, limits and errors do.',
  when: 'Use it where a form or an error does not tell you enough. read_asset with the type `guide` shows a guide whole.',
  costs: 'low; it changes nothing.',
  effect: 'reads',
  input: {
    query: { type: 'string', description: 'Words' },
    limit: { type: 'integer', minimum: 1, maximum: MAX_SECTIONS, description: 'Default: 4' },
  },
  required: ['query'],
  async run({ query, limit }) {
    const most = typeof limit === 'number' ? Math.max(1, Math.min(limit, MAX_SECTIONS)) : 4;
    const sections = await searchGuides(text('query', query), most);
    const shown = sections.map(({ guide, text: whole }) => {
      const cut = whole.length > MAX_SECTION ? `${whole.slice(0, MAX_SECTION).toWellFormed()}…` : whole;
      return `[guide ${guide}]\n${cut.trim()}`;
    });
    const guides = (await listGuides()).map(({ name }) => name).join(', ');
    if (shown.length === 0) return success({ guides }, ['Use other words, or read one of the guides']);
    return success({ found: shown.join('\n\n') }, ['read_asset with type `guide` and its name shows a guide whole']);
  },
};
