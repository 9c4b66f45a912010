/** Part of `npm run check`: refuses home-made words as names in the code, and comments that begin without a subject. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript5';
import { allowedNames, refusedWords } from './refused-words.ts';

const root = join(import.meta.dirname, '../..');
const folders = ['api', 'workers', 'shared', 'ops', 'test'];
const generated = new Set(['ops/client/rest.ts', 'ops/client/operations.ts', 'ops/client/events.ts']);

/** A migration is never edited, so its words are those of its day. */
const migrations = 'shared/entities/migrations/';

/** Words that leave the reader to find the subject of the sentence. */
const withoutSubject = /^(Of|What|By|In whose|Whose|That of|As for|So is|So are)\b/;

const faults: string[] = [];
for (const file of globSync(`{${folders.join(',')}}/**/*.{ts,tsx,mjs}`, { cwd: root })) {
  if (file.includes('node_modules') || generated.has(file) || file.startsWith(migrations)) continue;
  const text = readFileSync(join(root, file), 'utf8');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, false, ts.ScriptKind.TSX);
  visitNames(source, (name, position) => {
    const word = refusedWordIn(name, file);
    if (word) report(source, position, `${name}: say ${refusedWords[word]} instead of "${word}"`);
  });
  visitComments(text, (comment, position) => {
    const [opening] = withoutSubject.exec(comment) ?? [];
    if (opening) report(source, position, `a comment begins with "${opening}": begin with its subject`);
  });
}
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
else console.log('words: no refused names, no comments without a subject');

function report(source: ts.SourceFile, position: number, message: string): void {
  const { line } = source.getLineAndCharacterOfPosition(position);
  faults.push(`${source.fileName}:${line + 1} ${message}`);
}

function refusedWordIn(name: string, file: string): string | undefined {
  const words = name
    .split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/)
    .map((part) => part.toLowerCase());
  const word = words.find((part) => Object.hasOwn(refusedWords, part));
  if (word === undefined) return undefined;
  const isAllowed = allowedNames.some(
    ({ names, files = [''] }) => names.test(name) && files.some((folder) => file.startsWith(folder)),
  );
  return isAllowed ? undefined : word;
}

/** Names that the code declares. Names of other packages, such as `String.trim`, are only used. */
function visitNames(node: ts.Node, visit: (name: string, position: number) => void): void {
  if (isDeclaration(node) && ts.isIdentifier(node.name)) visit(node.name.text, node.name.end);
  ts.forEachChild(node, (child) => visitNames(child, visit));
}

type Declaration = ts.NamedDeclaration & { name: ts.DeclarationName | ts.BindingName };

function isDeclaration(node: ts.Node): node is Declaration {
  const isKind =
    ts.isVariableDeclaration(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isParameter(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isPropertySignature(node) ||
    ts.isMethodSignature(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isPropertyDeclaration(node) ||
    ts.isGetAccessorDeclaration(node) ||
    (ts.isBindingElement(node) && node.propertyName !== undefined);
  return isKind && node.name !== undefined;
}

/** The first words of each comment that stands on a line of its own or behind code. Lines of one comment count once. */
function visitComments(text: string, visit: (comment: string, position: number) => void): void {
  let previousLine = -2;
  let offset = 0;
  text.split('\n').forEach((line, index) => {
    const match = /^\s*(?:\/\*(?:\*(?!\S)|(?!\*))|\*(?!\/)|\/\/)\s*(?<words>[^\s*].*)$/.exec(line);
    const words = match?.groups?.words;
    const isContinued = previousLine === index - 1;
    if (words !== undefined) {
      const opensBlock = /^\s*\/\*/.test(line);
      if (opensBlock || !isContinued) visit(words, offset);
      previousLine = index;
    } else if (/^\s*\/\*\*\s*$/.test(line)) previousLine = -2;
    offset += line.length + 1;
  });
}
