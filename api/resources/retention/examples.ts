export const exampleRetention = { days: 14, runs: null, inForce: { days: 14, runs: 500 }, maxDays: 30 };
