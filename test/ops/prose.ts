// Version 7 of TypeScript, our compiler, has no API to parse with.
import ts from 'typescript5';

/** The comments and the test titles of a source, each with the number of its line. */
export function proseIn(source: string): { line: number; text: string }[] {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest);
  const titles: ts.Expression[] = [];
  const rest: string[] = [];
  let end = 0;
  visit(file);
  rest.push(source.slice(end));

  const comments = [...rest.join('').matchAll(/\/\*[\s\S]*?\*\/|\/\/.*/g)].map((match) => ({
    at: match.index,
    text: match[0],
  }));
  const named = titles.map((title) => ({ at: title.getStart(file), text: title.getText(file) }));
  return [...comments, ...named].map(({ at, text }) => ({
    line: file.getLineAndCharacterOfPosition(at).line + 1,
    text: oneLine(text),
  }));

  function visit(node: ts.Node): void {
    if (ts.isCallExpression(node) && isOfTests(node.expression)) {
      const [title] = node.arguments;
      if (title && (ts.isStringLiteralLike(title) || ts.isTemplateExpression(title))) titles.push(title);
    }
    // The text of a literal can look like a comment.
    if (ts.isLiteralExpression(node) || ts.isTemplateMiddleOrTemplateTail(node) || ts.isTemplateHead(node)) {
      const start = node.getStart(file);
      rest.push(source.slice(end, start), ' '.repeat(node.end - start));
      end = node.end;
    }
    ts.forEachChild(node, visit);
  }
}

/** A text without its ends of lines, and the stars with which lines of a comment begin. */
export function oneLine(text: string): string {
  return text.replace(/\s*\n\s*(?:\*(?!\/)\s*)?/g, ' ');
}

/** `test`, `describe` and `it`, also as `test.skipIf(…)` or `test.each(…)`. */
function isOfTests(callee: ts.Expression): boolean {
  if (ts.isIdentifier(callee)) return ['test', 'describe', 'it'].includes(callee.text);
  return (ts.isPropertyAccessExpression(callee) || ts.isCallExpression(callee)) && isOfTests(callee.expression);
}
