import type { Draft, Kind } from './draft.ts';
import { nameOf } from './draft.ts';

interface Props {
  draft: Draft;
  kinds: Readonly<Record<string, Kind>>;
  faults: ReadonlyMap<string, ReadonlyMap<string, string>>;
  selected: string | undefined;
  onSelect: (id: string) => void;
}

/** Says in words what the graph draws. */
export function StepList({ draft, kinds, faults, selected, onSelect }: Props) {
  const names = new Map(draft.nodes.map((node) => [node.id, nameOf(node)]));
  const next = (id: string) =>
    draft.edges.filter(({ source }) => source === id).map(({ target }) => names.get(target) ?? target);
  return (
    <details className="group">
      <summary>Steps as a list</summary>
      <div className="scroller">
        <table className="list">
          <caption className="unseen">Steps of the workflow</caption>
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col">Kind</th>
              <th scope="col">Then</th>
            </tr>
          </thead>
          <tbody>
            {draft.nodes.map((node) => (
              <tr key={node.id} data-selected={node.id === selected}>
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
                <td>{kinds[node.type]?.label ?? node.type}</td>
                <td>{next(node.id).join(', ') || '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
