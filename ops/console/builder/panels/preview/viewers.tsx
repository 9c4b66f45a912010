import { Stack, Text } from '@mantine/core';
import { Problem } from '../../../ui/problem.tsx';
import type { PanelProps } from '../panel.ts';
import { Refusal } from './refusal.tsx';
import { useViewer } from './viewer.tsx';

/** The rights that a viewer of the page lacks by a role, with what would be refused. */
export function Viewers({ document, onChoose }: Pick<PanelProps, 'document' | 'onChoose'>) {
  const { field, error, canOpen, refused } = useViewer(document, 'A member with');
  return (
    <section aria-label="What viewers can do">
      <Text component="h3" size="sm" fw={600}>
        What viewers can do
      </Text>
      <Stack gap="xs" mt={4}>
        {error && <Problem error={error} />}
        {field}
        <Text size="sm" role="status">
          {!canOpen && 'Cannot open this page.'}
          {canOpen && refused.length === 0 && 'Can do everything that is on this page.'}
          {canOpen && refused.length > 0 && 'Sees this page, and would be refused:'}
        </Text>
        {canOpen && refused.length > 0 && (
          <ul className="lines prose" aria-label="What would be refused">
            {refused.map((demand, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: they have no state
              <li key={at}>
                <Text size="sm">
                  {demand.widget && onChoose ? (
                    <button type="button" className="plain link" onClick={() => onChoose(demand.widget?.key ?? '')}>
                      <bdi>{demand.widget.title}</bdi>
                    </button>
                  ) : (
                    <bdi>{demand.widget?.title}</bdi>
                  )}
                  : <Refusal of={demand} />
                </Text>
              </li>
            ))}
          </ul>
        )}
        <Text size="xs" c="dimmed">
          Questions of a run are answered here by the viewers whom they name, forms without names by who started the
          run, and all by those who may answer in the inbox. Who started the run and may not answer reads for whom it
          waits. The steps of a run are shown to those who may see its workflow.
        </Text>
      </Stack>
    </section>
  );
}
