import { fuzz } from './fuzz.ts';

describe('over random expressions and series', () => {
  test('our engine and a real Prometheus agree in value, error type and annotations', async () => {
    const { agreed, answered, disagreements } = await fuzz({ count: 400, seed: 7 });
    expect(disagreements).toEqual([]);
    expect(agreed).toBe(400);
    // If most expressions failed in both engines, their agreement would prove little.
    expect(answered).toBeGreaterThan(300);
  });
});
