declare module 'snappyjs' {
  const snappy: { compress(uncompressed: Uint8Array): Uint8Array };
  export default snappy;
}
