import './markdown.css';
import { marked, type Token, type Tokens } from 'marked';
import { type ReactNode, useMemo } from 'react';
import { withoutTurning } from '../code/turning.ts';
import { Copy } from './copy.tsx';

/** Markdown as elements: markup in it is shown as text, pictures are not loaded, and links say where they lead. */
export function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => marked.lexer(text, { gfm: true }), [text]);
  return <div className="marked-text">{blocks(tokens)}</div>;
}

function blocks(tokens: readonly Token[]): ReactNode[] {
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts have no state
  return tokens.map((token, index) => <Block key={index} token={token} />);
}

function Block({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading':
      return (
        <p>
          <strong>{inline(token.tokens)}</strong>
        </p>
      );
    case 'paragraph':
      return <p>{inline(token.tokens)}</p>;
    case 'code':
      return <Code text={(token as Tokens.Code).text} />;
    case 'blockquote':
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case 'list':
      return <List list={token as Tokens.List} />;
    case 'table':
      return <Table table={token as Tokens.Table} />;
    case 'hr':
      return <hr />;
    case 'text':
      return 'tokens' in token && token.tokens ? inline(token.tokens) : withoutTurning(token.raw);
    default:
      return <p>{withoutTurning(token.raw)}</p>;
  }
}

function List({ list: { ordered, items, start } }: { list: Tokens.List }) {
  const rows = items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the items have no state
    <li key={index}>{blocks(item.tokens)}</li>
  ));
  return ordered ? <ol start={start === '' ? 1 : start}>{rows}</ol> : <ul>{rows}</ul>;
}

function Table({ table: { header, rows } }: { table: Tokens.Table }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section className="scroller" tabIndex={0} aria-label="Table">
      <table className="list">
        <thead>
          <tr>
            {header.map((cell, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the cells have no state
              <th key={index} scope="col">
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows have no state
            <tr key={at}>
              {row.map((cell, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the cells have no state
                <td key={index}>{inline(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Code({ text }: { text: string }) {
  return (
    <div className="marked-code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <pre tabIndex={0}>
        <code>{withoutTurning(text)}</code>
      </pre>
      <Copy value={text} of="the code" />
    </div>
  );
}

function inline(tokens: readonly Token[] | undefined): ReactNode[] {
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts have no state
  return (tokens ?? []).map((token, index) => <Inline key={index} token={token} />);
}

function Inline({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong>{inline(token.tokens)}</strong>;
    case 'em':
      return <em>{inline(token.tokens)}</em>;
    case 'del':
      return <del>{inline(token.tokens)}</del>;
    case 'codespan':
      return <code>{withoutTurning((token as Tokens.Codespan).text)}</code>;
    case 'br':
      return <br />;
    case 'link':
      return <Anchor link={token as Tokens.Link} />;
    case 'text':
      return 'tokens' in token && token.tokens ? inline(token.tokens) : withoutTurning((token as Tokens.Text).text);
    case 'escape':
      return withoutTurning((token as Tokens.Escape).text);
    default:
      return withoutTurning(token.raw);
  }
}

/** The address may come from foreign data: the person sees where it leads, and nothing of the console goes along. */
function Anchor({ link: { href, text } }: { link: Tokens.Link }) {
  if (!/^https?:\/\//i.test(href)) return withoutTurning(text);
  return (
    <>
      <a className="link" href={href} target="_blank" rel="noopener noreferrer">
        {withoutTurning(text)}
      </a>
      {text !== href && <span className="note"> ({withoutTurning(href.slice(0, 200))})</span>}
    </>
  );
}
