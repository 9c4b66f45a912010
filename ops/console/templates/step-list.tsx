import type { Template } from '../client/template.ts';
import { type Kinds, wordsOf } from '../graph/kinds.ts';
import type { ShownGraph } from '../graph/shown.ts';
import { MAX_LINE, summaryOf } from '../graph/summary.ts';
import { Icon } from '../ui/icon.tsx';
import { namedIn, shownTitle } from './words.ts';

/** The steps in their order, each with what it does. */
export function TemplateSteps({ template, graph, kinds }: { template: Template; graph: ShownGraph; kinds: Kinds }) {
  const named = namedIn(template);
  return (
    <ol className="template-steps">
      {graph.nodes.map(({ id, type, data }) => {
        const { word, group, icon } = wordsOf(type, kinds[type]);
        const summary = summaryOf(type, data, named);
        const line = summary.length < MAX_LINE ? summary : `${summary.slice(0, -1)}…`;
        return (
          <li key={id}>
            <span className="node-icon" data-group={group}>
              <Icon name={icon} size={15} />
            </span>
            <div>
              {shownTitle(data.title)}
              <small>{line === '' ? word : `${word}: ${line}`}</small>
            </div>
          </li>
        );
      })}
    </ol>
  );
}
