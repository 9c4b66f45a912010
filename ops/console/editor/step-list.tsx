import { exitOfEdge, exitsOf, NEXT } from '../graph/exits.ts';
import { type Kinds, wordsOf } from '../graph/kinds.ts';
import { type Named, summaryOf } from '../graph/summary.ts';
import type { PlannedCard } from '../plan/planned.ts';
import { type Draft, type DraftNode, type Faults, nameOf } from './draft.ts';
import { wordsOfResult } from './step-nodes.tsx';
import type { Tested } from './test-results.tsx';

interface Props {
  draft: Draft;
  kinds: Kinds;
  named: Named;
  faults: Faults;
  tested: Tested;
  /** Steps that would have other results now. */
  outdated: ReadonlySet<string>;
  planned: ReadonlyMap<string, PlannedCard> | undefined;
  selection: ReadonlySet<string>;
  onSelect: (id: string) => void;
}

/** Says in words what the graph draws. */
export function StepList({ draft, kinds, named, faults, tested, outdated, planned, selection, onSelect }: Props) {
  const names = new Map(draft.nodes.map((node) => [node.id, nameOf(node)]));
  const stateHead = planned ? 'Plan' : tested.size > 0 ? 'Last test' : undefined;
  const stateOf = (node: DraftNode) => {
    const card = planned?.get(node.id);
    if (planned) return [card?.word ?? '–', card?.reason].filter(Boolean).join(': ');
    const result = tested.get(node.id);
    return result ? `${wordsOfResult(result, node, kinds)}${outdated.has(node.id) ? ', outdated' : ''}` : '–';
  };
  const leaving = Map.groupBy(draft.edges, ({ source }) => source);
  const next = ({ id, type, data }: DraftNode) =>
    (leaving.get(id) ?? []).map(({ target, sourceHandle }) => {
      const exit = exitOfEdge(kinds[type], data, sourceHandle);
      const name = exitsOf(kinds[type], data).find((one) => one.id === exit)?.name ?? sourceHandle;
      return `${name && name !== NEXT ? `${name}: ` : ''}${names.get(target) ?? target}`;
    });
  return (
    <details className="group studio-list">
      <summary>Steps as a list</summary>
      <div className="scroller">
        <table className="list">
          <caption className="unseen">Steps of the workflow</caption>
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col">Kind</th>
              <th scope="col" className="wide">
                What it does
              </th>
              {stateHead && <th scope="col">{stateHead}</th>}
              <th scope="col">Then</th>
            </tr>
          </thead>
          <tbody>
            {draft.nodes.map((node) => (
              <tr key={node.id} data-selected={selection.has(node.id)}>
                <td>
                  <button type="button" className="plain link" onClick={() => onSelect(node.id)}>
                    <bdi>{nameOf(node)}</bdi>
                  </button>
                  {[...(faults.get(node.id) ?? [])].map(([field, message]) => (
                    <div key={field} className="fault">
                      {field}: {message}
                    </div>
                  ))}
                </td>
                <td>
                  {wordsOf(node.type, kinds[node.type]).word}
                  {node.data.isDisabled === true && ', disabled'}
                </td>
                <td className="wide">
                  <div className="clip">{summaryOf(node.type, node.data, named)}</div>
                </td>
                {stateHead && (
                  <td>
                    <div className="clip">{stateOf(node)}</div>
                  </td>
                )}
                <td>{next(node).join(', ') || '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
