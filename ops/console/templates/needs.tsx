import { Button, Group, Modal, Skeleton, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { errorInPlaceOf } from '../client/error-in-place.ts';
import { useMay } from '../client/may.ts';
import { aiConfigRead } from '../client/settings.ts';
import type { TemplateNeed } from '../client/template.ts';
import { Copy } from '../ui/copy.tsx';
import { Notice } from '../ui/notice.tsx';
import { Picker } from '../ui/picker.tsx';
import { Problem } from '../ui/problem.tsx';

const ModelForm = lazy(() => import('../settings/ai-model.tsx').then(({ ModelForm: one }) => ({ default: one })));

interface Props {
  tenantID: string;
  need: TemplateNeed;
  /** The id of a datasource, or a secret. */
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}

/** Asks for what a template needs. */
export function Need({ tenantID, need, value, onChange }: Props) {
  if (need.kind === 'ai') return <ModelNeed tenantID={tenantID} />;
  if (need.kind === 'secret')
    return (
      <TextInput
        label={need.title}
        description={`${need.description}. It is stored encrypted and not shown again`}
        autoComplete="off"
        value={value ?? ''}
        rightSectionWidth={72}
        rightSection={<Copy value={value ?? ''} of="the secret" />}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    );
  return (
    <Picker
      types={['datasource']}
      label={need.title}
      description={need.description}
      required
      accepts={({ detail }) => need.types.includes(detail ?? '')}
      value={value}
      onChange={onChange}
    />
  );
}

/** The language model of the tenant, or how to get one. */
function ModelNeed({ tenantID }: { tenantID: string }) {
  const read = useQuery(aiConfigRead(tenantID));
  const { data: config, refetch } = read;
  const [isOpen, dialog] = useDisclosure(false);
  const mayChange = useMay()('tenant.update');
  const error = errorInPlaceOf(read);
  if (error) return <Problem error={error} onRetry={() => void refetch()} />;
  if (!config) return <Skeleton h={60} />;
  const isMissing = config.source === 'none';
  return (
    <div>
      <Text size="sm" fw={500}>
        Language model
      </Text>
      {isMissing ? (
        <Notice tone="wait">
          No model is set for this tenant. Without one, each request waits for a person; a model can be set later, too.
        </Notice>
      ) : (
        <Text size="sm">
          <bdi>{config.model}</bdi>, by {config.provider}
          {config.source === 'workspace' && ', of the deployment'}
        </Text>
      )}
      {mayChange && (
        <Group mt={6}>
          <Button size="compact-xs" variant="default" onClick={dialog.open}>
            {isMissing ? 'Set a model here' : 'Change the model'}
          </Button>
        </Group>
      )}
      {isOpen && (
        <Modal opened onClose={dialog.close} closeOnClickOutside={false} title="Language model">
          <Suspense fallback={<Skeleton h={240} />}>
            <ModelForm tenantID={tenantID} config={config} onDeleted={() => void refetch()} />
          </Suspense>
        </Modal>
      )}
    </div>
  );
}
