"""Unusual right answers to the exercises of lesson 12, the text of CUDA kernels (test_solutions.py)."""

from tests.check.solutions import also

# 12: the text of kernels
GLOBAL = 'extern "C" __global__ void '
also(nb12_axpy=GLOBAL + """axpy(float* y, const float* x, float a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = fmaf(a, x[i], y[i]);
}""", nb12_outer=GLOBAL + """outer(float* out, const float* a, const float* b, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    float mine = b[c];
    for (int r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += gridDim.y * blockDim.y)
        *(out + r * columns + c) = mine + a[r];
}""", nb12_smooth=GLOBAL + """smooth(float* out, const float* x, int n) {
    __shared__ float s[66];
    int start = blockIdx.x * blockDim.x - 1;
    for (int j = threadIdx.x; j < blockDim.x + 2; j += blockDim.x)
        s[j] = start + j < 0 || start + j >= n ? 0 : x[start + j];
    __syncthreads();
    int t = threadIdx.x;
    if (start + 1 + t < n) out[start + 1 + t] = (s[t] + s[t + 1] + s[t + 2]) * (1 / 3.0f);
}""", nb12_block_sum=GLOBAL + """block_sum(float* out, const float* x, int n) {
    __shared__ float s[128];                       // sums from each place on: s[t] of 1, 2, 4 ... elements
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float sum = i < n ? x[i] : 0;
    for (int far = 1; far < blockDim.x; far *= 2) {
        s[t] = sum;
        __syncthreads();
        if (t + far < blockDim.x) sum += s[t + far];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = sum;
}""", nb12_softmax=GLOBAL + """softmax(float* out, const float* x, int columns) {
    __shared__ float m[64], s[64];                 // running maximum and sum, merged by one thread
    int t = threadIdx.x, row = blockIdx.x * columns;
    float largest = -1e38f, sum = 0;
    for (int c = t; c < columns; c += blockDim.x) {
        float higher = fmaxf(largest, x[row + c]);
        sum = sum * expf(largest - higher) + expf(x[row + c] - higher);
        largest = higher;
    }
    m[t] = largest;
    s[t] = sum;
    __syncthreads();
    if (t == 0) for (int j = 1; j < blockDim.x; j++) {
        float higher = fmaxf(m[0], m[j]);
        s[0] = s[0] * expf(m[0] - higher) + s[j] * expf(m[j] - higher);
        m[0] = higher;
    }
    __syncthreads();
    for (int c = t; c < columns; c += blockDim.x) out[row + c] = expf(x[row + c] - m[0]) / s[0];
}""", nb12_transpose=GLOBAL + """transpose(float* out, const float* x, int rows, int columns) {
    __shared__ float tile[32][32];                 // each row turned by its number
    int tx = threadIdx.x, ty = threadIdx.y, top = blockIdx.y * 32, left = blockIdx.x * 32;
    if (top + ty < rows && left + tx < columns) tile[ty][tx + ty & 31] = x[(top + ty) * columns + left + tx];
    __syncthreads();
    if (left + ty < columns && top + tx < rows) out[(left + ty) * rows + top + tx] = tile[tx][ty + tx & 31];
}""", nb12_matmul=GLOBAL + """matmul(float* out, const float* a, const float* b, int m, int n, int k) {
    __shared__ float s[2][8][8], t[2][8][8];       // two of each: one barrier is enough
    int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 8 + y, c = blockIdx.x * 8 + x, turn = 0;
    float sum = 0;
    for (int first = 0; first < k; first += 8, turn ^= 1) {
        s[turn][y][x] = r < m && first + x < k ? a[r * k + first + x] : 0;
        t[turn][y][x] = c < n && first + y < k ? b[(first + y) * n + c] : 0;
        __syncthreads();
        for (int j = 0; j < 8; j++) sum += s[turn][y][j] * t[turn][j][x];
    }
    if (r < m && c < n) out[r * n + c] = sum;
}""", nb12_scatter_add=GLOBAL + """scatter_add(float* out, const float* x, const int* index, int n) {
    if (blockIdx.x == 0 && threadIdx.x == 0) for (int i = 0; i < n; i++) out[index[i]] += x[i];
}""")
also(nb12_axpy=GLOBAL + """axpy(float* y, const float* x, float a, int n) {
    unsigned i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    y += i;
    *y = *y + x[i] * a;
}""", nb12_outer=GLOBAL + """outer(float* out, const float* a, const float* b, int rows, int columns) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows || c >= columns) return;
    out[r * columns + c] = b[c] + a[r];
}""", nb12_smooth=GLOBAL + """smooth(float* out, const float* x, int n) {
    __shared__ float s[64];                        // the two beside the block come from global memory
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i < n) s[t] = x[i];
    __syncthreads();
    if (i >= n) return;
    float left = i == 0 ? 0 : t > 0 ? s[t - 1] : x[i - 1];
    float right = i == n - 1 ? 0 : t + 1 < blockDim.x ? s[t + 1] : x[i + 1];
    out[i] = (left + s[t] + right) / 3;
}""", nb12_block_sum=GLOBAL + """block_sum(float* out, const float* x, int n) {
    __shared__ float s[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    float sum = 0;
    if (threadIdx.x == 0) {
        for (int t = 0; t < blockDim.x; t++) sum += s[t];
        out[blockIdx.x] = sum;
    }
}""", nb12_softmax=GLOBAL + """softmax(float* out, const float* x, int columns) {
    const float* row = x + blockIdx.x * columns;   // every thread does all of it, and shares nothing
    float largest = row[0], sum = 0;
    for (int c = 1; c < columns; c++) largest = fmaxf(largest, row[c]);
    for (int c = 0; c < columns; c++) sum += expf(row[c] - largest);
    out += blockIdx.x * columns;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) out[c] = expf(row[c] - largest) / sum;
}""", nb12_transpose=GLOBAL + """transpose(float* out, const float* x, int rows, int columns) {
    __shared__ float tile[32 * 33];                // turned on the way in
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 32, c = blockIdx.x * 32;
    if (r + ty < rows && c + tx < columns) tile[tx * 33 + ty] = x[(r + ty) * columns + c + tx];
    __syncthreads();
    if (c + ty < columns && r + tx < rows) out[(c + ty) * rows + r + tx] = tile[ty * 33 + tx];
}""", nb12_matmul=GLOBAL + """matmul(float* out, const float* a, const float* b, int m, int n, int k) {
    __shared__ float s[64], t[64];                 // the tile of b lies on its side
    int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 8 + y, c = blockIdx.x * 8 + x;
    float sum = 0;
    for (int tile = 0; tile < (k + 7) / 8; tile++) {
        __syncthreads();
        s[y * 8 + x] = 0;
        t[x * 8 + y] = 0;
        if (r < m && tile * 8 + x < k) s[y * 8 + x] = a[r * k + tile * 8 + x];
        if (c < n && tile * 8 + y < k) t[x * 8 + y] = b[(tile * 8 + y) * n + c];
        __syncthreads();
        for (int j = 7; j >= 0; j--) sum = fmaf(s[y * 8 + j], t[x * 8 + j], sum);
    }
    if (r < m && c < n) out[r * n + c] = sum;
}""", nb12_scatter_add=GLOBAL + """scatter_add(float* out, const float* x, const int* index, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned* place = (unsigned*)&out[index[i]];   // compare and swap, until nobody was faster
    unsigned seen = atomicAdd(place, 0u), before;
    do {
        before = seen;
        seen = atomicCAS(place, before, __float_as_uint(__uint_as_float(before) + x[i]));
    } while (seen != before);
}""")
