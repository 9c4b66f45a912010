import { Select, Text } from '@mantine/core';

interface Props {
  /** The names of those that operators have set up. */
  providers: readonly string[];
  value: string;
  onChange: (provider: string) => void;
}

/** The provider at which an account is connected. */
export function ProviderField({ providers, value, onChange }: Props) {
  return (
    <Select
      label="Provider"
      data={providers.map((name) => ({ value: name, label: name.charAt(0).toUpperCase() + name.slice(1) }))}
      value={value}
      allowDeselect={false}
      onChange={(chosen) => onChange(chosen ?? value)}
    />
  );
}

export function NoProvider() {
  return (
    <Text size="sm">
      No provider is set up. An operator adds one with <code>OAUTH_PROVIDERS</code> in the settings of the server.
    </Text>
  );
}
