"""Printed figures of "Data Synthesis for Testing Black-Box Machine Learning Models" (arXiv 2111.02161), Tables 2 to 7, line by line."""

from __future__ import annotations

TABLE_2 = """\
data; range anomalies (AITEST, CTGAN, TVAE); density anomalies; JS divergence; association JS divergence
iris; 0, 970, 852; 63, 798, 760; 0.18, 0.18, 0.17; 0.11, 0.15, 0.16
ecoli; 0, 400, 453; 10, 90, 5; 0.17, 0.13, 0.14; 0.13, 0.12, 0.14
cancer; 0, 935, 70; 916, 237, 458; 0.24, 0.19, 0.19; 0.22, 0.20, 0.18
penbased; 0, 918, 784; 998, 651, 274; 0.35, 0.32, 0.34; 0.35, 0.28, 0.30
magic; 0, 74, 16; 992, 321, 944; 0.25, 0.21, 0.19; 0.27, 0.22, 0.24
adult-8; 0, 26, 49; 9, 57, 30; 0.35, 0.35, 0.32; 0.22, 0.18, 0.18
car; 0, 110, 557; 1, 157, 607; 0.49, 0.49, 0.57; 0, 0, 0
us exec; 6, 420, 102; 8, 41, 1000; 0.59, 0.57, 0.29; 0.26, 0.32, 0.33
german; 0, 815, 331; 6, 23, 2; 0.34, 0.34, 0.31; 0.22, 0.27, 0.21
instacart; 0, 113, 102; 563, 180, 284; 0.32, 0.31, 0.30; 0.33, 0.33, 0.31"""

TABLE_3 = """\
data; RF 70:30 (train, synthetic); RF 80:20; DT 70:30; DT 80:20
iris; 91.11, 91.11; 93.33, 93.33; 96.66, 90.00; 96.66, 96.66
ecoli; 85.14, 84.15; 81.18, 69.30; 85.29, 85.29; 79.41, 83.82
cancer; 95.32, 88.30; 91.81, 90.64; 93.85, 93.85; 90.35, 91.22
penbased; 98.57, 81.98; 96.69, 86.11; 98.72, 84.81; 96.68, 82.40
magic; 87.57, 73.36; 82.10, 69.90; 86.96, 72.87; 82.72, 68.24
adult-8; 80.25, 81.15; 78.35, 76.71; 79.89, 81.25; 78.41, 75.66
car; 84.25, 80.14; 82.88, 79.45; 85.71, 83.67; 84.69, 82.65
german; 77.33, 72.67; 71.67, 61.67; 74.00, 74.50; 70.00, 69.00
us exec; 85.55, 84.70; 82.44, 82.44; 83.05, 83.05; 82.20, 66.53
instacart; 56.46, 56.31; 55.71, 52.57; 56.39, 56.36; 55.68, 52.77"""

TABLE_4 = """\
data, model; split; RS test; RS AITEST; SS test; SS AITEST; DI test; DI AITEST
adult-8, RF; 70:30; 43.99; 47.96; 84.56; 83.41; 0.29; 0.55
adult-8, RF; 80:20; 43.79; 47.86; 83.94; 82.79; 0.29; 0.68
adult-8, DT; 70:30; 31.7; 25.29; 85.98; 86.82; 0.41; 0.76
adult-8, DT; 80:20; 33.76; 28.23; 85.83; 84.71; 0.4; 0.65
german, RF; 70:30; 45.33; 33.67; 94.33; 91.33; 0.96; 0.8
german, RF; 80:20; 44.5; 31; 93; 90.3; 0.97; 0.85
german, DT; 70:30; 24; 16.67; 99; 98; 0.97; 0.86
german, DT; 80:20; 25.5; 16; 98; 96.5; 1.01; 0.94
us exec, RF; 70:30; 72.52; 88.95; 96.03; 99.43; 1.05; 1.02
us exec, RF; 80:20; 79.24; 88.56; 95.34; 97.88; 1.08; 1.02
us exec, DT; 70:30; 49.86; 66.01; 100; 100; 1.17; 1.1
us exec, DT; 80:20; 45.76; 60.59; 98.31; 100; 1.17; 0.88
car, RF; 70:30; 7.53; 4.35; 71.23; 71.21; 1.76; 1.99
car, RF; 80:20; 2.04; 1.79; 72.45; 70.69; 0.76; 1.93
car, DT; 70:30; 0.68; 1.25; 84.93; 79.65; 3.64; 3.83
car, DT; 80:20; 0; 0; 74.49; 72.22; 1.13; 1.8"""

TABLE_5 = """\
in words
With the ratio of men to women overridden, robustness and success scores improve by about 5 % and 2 % on average over the test split.
55 % of the models gain more than 5 % in individual discrimination, Adult-8 at 1:2 gains most, about 15 %.
The suites deviate from the test split by 194 % for individual discrimination, 15 % for robustness, 78.5 % for group discrimination."""

TABLE_6 = """\
data; model; accuracy; surrogate's accuracy; fidelity
us exec; RF; 86.02; 86.02; 100
us exec; LR; 86.02; 86.02; 100
us exec; KNN; 84.32; 82.63; 95.34
german; RF; 72; 72; 99
german; LR; 66.5; 71.5; 85
german; KNN; 66.5; 66; 71.5
adult-8; RF; 76.23; 76.23; 100
adult-8; LR; 78.29; 78.12; 97.56
adult-8; KNN; 77.95; 78.49; 89.30
cancer; RF; 94.74; 93.86; 99.12
cancer; LR; 96.49; 93.86; 95.61
cancer; KNN; 91.23; 91.23; 98.25
car; RF; 65.31; 65.31; 100
car; LR; 64.29; 64.29; 100
car; KNN; 71.43; 71.43; 97.96
iris; RF; 90; 90; 100
iris; LR; 90; 96.67; 93.33
iris; KNN; 93.33; 96.67; 96.67
ecoli; RF; 80.88; 76.47; 92.65
ecoli; LR; 85.29; 76.47; 88.24
ecoli; KNN; 86.76; 86.76; 88.24
penbased; RF; 74.03; 73.62; 96.95
penbased; LR; 92.68; 90.68; 92.59
penbased; KNN; 99.5; 96.09; 95.86
magic; RF; 73.79; 73.5; 99.5
magic; LR; 78.68; 77.92; 96.82
magic; KNN; 78.81; 80.44; 83.96
bank; RF; 88.43; 88.43; 100
bank; LR; 89.45; 89.15; 98.06
bank; KNN; 89.59; 89.30; 91.05"""

TABLE_7 = """\
data; model; paths; all, test; all, AITEST; unfair, test; unfair, AITEST; not robust, test; not robust, AITEST
car; RF; 42; 28; 42; 21; 32; 28; 42
car; DT; 46; 31; 46; 20; 31; 31; 46
us exec; RF; 161; 58; 161; 5; 18; 26; 102
us exec; DT; 179; 65; 179; 3; 14; 57; 167
german; RF; 149; 72; 149; 15; 24; 54; 99
german; DT; 149; 71; 149; 3; 18; 64; 132
adult-8; RF; 4171; 1829; 4171; 702; 1809; 1596; 3624
adult-8; DT; 4409; 1841; 4409; 555; 1285; 1739; 4172"""
